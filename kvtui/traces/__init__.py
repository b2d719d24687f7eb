"""Request traces in the formats people have: recognised by content, read into a Workload.

A format is one module with the four names of `Loader`; adding it to LOADERS is all it takes.
"""

from __future__ import annotations

from kvtui.errors import ConfigError
from kvtui.traces import (
    aibrix,
    aiperf,
    azure,
    bailian,
    batch,
    bench,
    burstgpt,
    chats,
    dynamo,
    litellm,
    mooncake,
    native,
    otel,
    plain,
    ragpulse,
    reports,
    servingsim,
    tables,
    texts,
    tracelab,
    turns,
    weka,
)
from kvtui.traces.blocks import MOST
from kvtui.traces.draft import Options
from kvtui.traces.loader import Loader, sample
from kvtui.traces.refuse import unknown
from kvtui.traces.source import open_source
from kvtui.traces.workload import LeftOut, Workload

__all__ = ["LOADERS", "LeftOut", "Loader", "Workload", "load"]

# The first that matches reads the file: a format stands before those with fewer marks of their own.
LOADERS: tuple[Loader, ...] = (
    native,
    otel,
    weka,
    aiperf,
    bench,
    dynamo,
    bailian,
    ragpulse,
    aibrix,
    servingsim,
    turns,
    mooncake,
    tracelab,
    reports,
    litellm,
    batch,
    chats,
    texts,
    azure,
    burstgpt,
    tables,
    plain,
)


def load(
    source: str,
    *,
    limit: int | None = None,
    skip: int = 0,
    block_size: int | None = None,
    keep_failed: bool = False,
    keep_cached: bool = False,
    run: int | None = None,
    delta: bool = False,
) -> Workload:
    """Read the trace `source`, a path or "-" for standard input; gzip is unpacked.

    At most `limit` requests are read behind the first `skip` usable ones, in the order of the file.
    `block_size` says how many tokens the trace's block ids stand for where it does not say so itself.
    Failed requests (no prompt or no output) are left out and counted unless `keep_failed`.

    Raises TraceError where the source cannot be read as a trace, ConfigError for options out of range.
    """
    if block_size is not None and block_size > MOST:
        raise ConfigError(f"a block of {block_size:,} tokens is too large.", hint=f"give {MOST:,} or less")
    for option, value, least in (
        ("limit", limit, 1),
        ("skip", skip, 0),
        ("block size", block_size, 1),
        ("run", run, 1),
    ):
        if value is not None and value < least:
            raise ConfigError(f"the {option} of a trace cannot be {value}.", hint=f"give {least} or more")
    opened = open_source(source)
    look = sample(opened)
    options = Options(
        limit=limit,
        skip=skip,
        block_size=block_size,
        keep_failed=keep_failed,
        keep_cached=keep_cached,
        run=run,
        delta=delta,
    )
    for loader in LOADERS:
        if loader.matches(look):
            return loader.read(opened, look, options)
    raise unknown(opened, look, titles=[loader.title for loader in LOADERS])
