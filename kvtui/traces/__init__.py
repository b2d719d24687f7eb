"""Request traces in the formats people have: recognised by content, read into a Workload.

A format is one module with the four names of `Loader`; adding it to LOADERS is all it takes.
"""

from __future__ import annotations

from dataclasses import replace

from kvtui.errors import TraceError
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
    sagemaker,
    servingsim,
    tables,
    texts,
    tracelab,
    turns,
    weka,
)
from kvtui.traces.directory import files_in, is_directory, together
from kvtui.traces.loader import Loader
from kvtui.traces.loader import sample as sample_of
from kvtui.traces.options import Options
from kvtui.traces.refuse import unknown
from kvtui.traces.shape import Shape, cut, shaped
from kvtui.traces.source import Progress, open_source
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
    sagemaker,
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
    time_unit: str | None = None,
    delta: bool = False,
    tokenizer: str | None = None,
    rate: float | None = None,
    burstiness: float | None = None,
    start_s: float | None = None,
    duration_s: float | None = None,
    max_gap_s: float | None = None,
    sample: float | None = None,
    scale_rate: float | None = None,
    shuffle_seed: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Workload:
    """Read the trace `source`: a path, a directory of traces, or "-" for standard input; gzip is unpacked.

    At most `limit` requests are read behind the first `skip` usable ones, in the order of the file; with a
    window, a sample or shuffling the limit counts what is left of these. `block_size` says how many tokens
    the trace's block ids stand for where it does not say so itself. Failed requests (no prompt or no output)
    are left out and counted unless `keep_failed`, answers out of a gateway's own cache unless `keep_cached`.
    `run` is the run to read where a file holds several; `time_unit` (s, ms, us or ns) is what bare times
    count where the format leaves room for doubt; `delta` adds to the prompts of later turns the
    tokens of the turns before. `tokenizer` is the path of a tokenizer.json that counts the tokens of text;
    without it they are estimated. `progress` is called now and then with the bytes read and all there
    are. The other options are those of Shape.

    Raises TraceError where the source cannot be read as a trace, ConfigError for options out of range.
    """
    options = Options(
        limit=limit,
        skip=skip,
        block_size=block_size,
        keep_failed=keep_failed,
        keep_cached=keep_cached,
        run=run,
        time_unit=time_unit,
        delta=delta,
        tokenizer=tokenizer,
    )
    shape = Shape(
        rate=rate,
        burstiness=burstiness,
        start_s=start_s,
        duration_s=duration_s,
        max_gap_s=max_gap_s,
        sample=sample,
        scale_rate=scale_rate,
        shuffle_seed=shuffle_seed,
        seed=seed,
    )
    many = is_directory(source)
    late = many or shape.needs_all
    wanted = replace(options, limit=None, skip=0) if late else options
    workload = _read_all(source, wanted, progress) if many else _read(source, wanted, progress)
    workload = shaped(workload, shape)
    return cut(workload, skip=skip, limit=limit) if late else workload


def _read(source: str, options: Options, progress: Progress | None) -> Workload:
    opened = open_source(source, progress=progress)
    look = sample_of(opened)
    for loader in LOADERS:
        if loader.matches(look):
            return loader.read(opened, look, options)
    raise unknown(opened, look, titles=[loader.title for loader in LOADERS])


def _read_all(directory: str, options: Options, progress: Progress | None) -> Workload:
    """All traces below a directory as one; other files there are counted."""
    parts: list[Workload] = []
    others: list[str] = []
    files = files_in(directory)
    done, total = 0, sum(files.values())
    for path, size in files.items():
        if progress:
            progress(done, total)
        done += size
        try:
            parts.append(_read(path, options, None))
        except TraceError:
            others.append(path)
    return together(directory, parts, others)
