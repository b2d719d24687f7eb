"""A directory of traces: which files it holds, and all of them as one workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kvtui.errors import TraceError
from kvtui.traces.leftout import rows as counted
from kvtui.traces.merge import merged
from kvtui.traces.workload import Workload

_NAMED = 3  # files worth naming


def files_in(where: str) -> dict[str, int]:
    """All files below a directory in order of name, hidden ones not among them, and their sizes in bytes."""
    folder = Path(where)
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): path.stat().st_size for path in found if not _hidden(path.relative_to(folder))}


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def together(where: str, parts: Sequence[Workload], others: Sequence[str]) -> Workload:
    """The traces read from a directory as one workload; `others` are the files that are none.

    Raises TraceError where there are no traces, or where they are of several formats.
    """
    if not parts:
        what = (
            f"none of its {counted(len(others), 'file')} can be read as a trace" if others else "it is empty"
        )
        raise TraceError(f"this directory holds no trace: {what}.", path=where, hint="name one file in it")
    formats = sorted({part.format for part in parts})
    if len(formats) > 1:
        message = f"this directory mixes formats: {', '.join(formats)}."
        raise TraceError(
            message, path=where, hint="open the files one at a time, or sort them into directories"
        )
    name = Path(where).resolve().name or where
    workload = merged(parts, name=name, path=where) if len(parts) > 1 else parts[0]
    said = [f"{counted(len(parts), 'file')} read as one trace, block ids of each its own"]
    if others:
        named = ", ".join(Path(path).name for path in others[:_NAMED]) + (
            ", ..." if len(others) > _NAMED else ""
        )
        said.append(f"{counted(len(others), 'file')} that cannot be read as a trace left out: {named}")
    return replace(workload, name=name, assumed=(*said, *workload.assumed))
