"""All formats: the first that knows a file as its own reads it.

A format is a module of `formats` with the four names of `Loader`; adding its name to FORMATS is all it takes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from importlib import import_module
from typing import Any, cast

from kvtui.errors import TraceError
from kvtui.traces.directory import files_in, together
from kvtui.traces.loader import Loader
from kvtui.traces.loader import sample as sample_of
from kvtui.traces.options import Options
from kvtui.traces.refuse import unknown
from kvtui.traces.shape import Shape, cut, shaped
from kvtui.traces.source import Progress, Source, is_directory, open_source
from kvtui.traces.wanted import Wanted
from kvtui.traces.workload import Workload

CUT = "the last line has no line end: if the file was cut off, its last number is too small"

# The first that matches reads the file: a format stands before those with fewer marks of their own.
FORMATS = (
    "native",
    "otel",
    "weka",
    "aiperf",
    "bench",
    "dynamo",
    "bailian",
    "ragpulse",
    "aibrix",
    "servingsim",
    "turns",
    "mooncake",
    "tracelab",
    "reports",
    "sagemaker",
    "litellm",
    "batch",
    "chats",
    "texts",
    "azure",
    "burstgpt",
    "tables",
    "plain",
)


def loaders() -> Iterator[Loader]:
    """The loaders of all formats, each imported when its turn comes: start-up should not pay for all."""
    for name in FORMATS:
        yield cast(Loader, import_module(f"kvtui.traces.formats.{name}"))


def load(source: str | Source, wanted: Wanted, *, progress: Progress | None = None) -> Workload:
    """As `kvtui.traces.load`, of a source that may have been opened before."""
    options, shape = Options(**_for(Options, wanted)), Shape(**_for(Shape, wanted))
    many = isinstance(source, str) and is_directory(source)
    late = many or shape.needs_all
    now = dataclasses.replace(options, limit=None, skip=0) if late else options
    if isinstance(source, str) and not many:
        source = open_source(source, progress=progress)
    workload = _read_all(source, now, progress) if isinstance(source, str) else _read(source, now)
    workload = shaped(workload, shape)
    return cut(workload, skip=options.skip, limit=options.limit) if late else workload


def _for(kind: type[Options | Shape], wanted: Wanted) -> dict[str, Any]:
    """What is wanted of one kind."""
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: value for name, value in wanted.items() if name in names}


def _read(opened: Source, options: Options) -> Workload:
    look = sample_of(opened)
    for loader in loaders():
        if loader.matches(look):
            read = loader.read(opened, look, options)
            doubtful = look.tabular and options.limit is None and opened.ends_in_a_number()
            return dataclasses.replace(read, assumed=(*read.assumed, CUT)) if doubtful else read
    raise unknown(opened, look)


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
            parts.append(_read(open_source(path), options))
        except TraceError:
            others.append(path)
    return together(directory, parts, others)
