"""Request traces in the formats people have: recognised by content, read into a Workload."""

from __future__ import annotations

from typing import Unpack

from kvtui.traces import quick
from kvtui.traces.source import Progress, Source, is_directory, open_source
from kvtui.traces.wanted import Wanted
from kvtui.traces.workload import LeftOut, Workload

__all__ = ["LeftOut", "Wanted", "Workload", "load"]


def load(source: str, *, progress: Progress | None = None, **wanted: Unpack[Wanted]) -> Workload:
    """Read the trace `source`: a path, a directory of traces, or "-" for standard input; gzip is unpacked.

    `wanted` says what of it is replayed, and when. `progress` is called now and then with the bytes read and
    all there are.

    Raises TraceError where the source cannot be read as a trace, ConfigError for options out of range.
    """
    where: str | Source = source
    if not _asks(wanted) and not is_directory(source):
        where = open_source(source, progress=progress)
        workload = quick.read(where)
        if workload is not None:
            return workload
    from kvtui.traces import registry  # all formats, and numpy

    return registry.load(where, wanted, progress=progress)


def _asks(wanted: Wanted) -> bool:
    """Whether anything but the trace as it is, is wanted."""
    plain = ("skip", "seed")  # numbers that ask for nothing: of a seed alone nothing is drawn
    asked = (value is not None and value is not False for name, value in wanted.items() if name not in plain)
    return bool(wanted.get("skip")) or any(asked)
