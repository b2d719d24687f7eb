"""Many workloads as one: files of a directory, replayed together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from kvtui.errors import TraceError
from kvtui.traces.workload import Ints, LeftOut, Workload

_SHOWN = 12  # sentences about the files that are worth showing
_SPARSE = 4  # times as many numbers as ids that use them
_FAR_NS = 20 * 365 * 86_400 * 10**9


def merged(parts: Sequence[Workload], *, name: str, path: str) -> Workload:
    """All requests in order of arrival, files without times of day beginning together.

    Prefix identity stays inside each part. Raises TraceError where parts cannot be replayed together.
    """
    units = sorted({part.unit for part in parts if part.unit})
    if len(units) > 1:
        message = f"the files have blocks of different sizes: {', '.join(map(str, units))} tokens."
        raise TraceError(message, path=path, hint="open them one at a time")
    origin = min(part.origin_ns for part in parts)
    if max(part.origin_ns for part in parts) - origin > _FAR_NS:
        message = "some files count from 1970 and others from the start of a run."
        raise TraceError(message, path=path, hint="open them one at a time")
    arrival = np.concatenate([part.arrival_ns + (part.origin_ns - origin) for part in parts])
    order = np.argsort(arrival, kind="stable")
    return _joined(parts, unit=units[0] if units else 0, name=name, origin=origin).take(order, arrival[order])


def _joined(parts: Sequence[Workload], *, unit: int, name: str, origin: int) -> Workload:
    """One part after the other."""
    ids, lengths = _chains(parts) if unit else (np.zeros(0, np.int64), np.zeros(0, np.int64))
    urgent = any(part.priority is not None for part in parts)
    return Workload(
        name=name,
        format=parts[0].format,
        arrival_ns=np.concatenate([part.arrival_ns for part in parts]),
        prompt=np.concatenate([part.prompt for part in parts]),
        output=np.concatenate([part.output for part in parts]),
        line=np.concatenate([part.line for part in parts]),
        priority=np.concatenate([_priority(part) for part in parts]) if urgent else None,
        samples=_several([part.samples for part in parts], parts),
        beams=_several([part.beams for part in parts], parts),
        unit=unit,
        chain=ids,
        chain_start=np.concatenate(([0], np.cumsum(lengths))),
        identified=np.concatenate([_identified(part) for part in parts]) if unit else np.zeros(0, np.int64),
        left_out=_left_out(parts),
        assumed=_assumed(parts),
        sha256=sha256("".join(part.sha256 for part in parts).encode()).hexdigest(),
        timed=any(part.timed for part in parts),
        origin_ns=origin,
        estimated=any(part.estimated for part in parts),
        follows=_follows(parts),
        waits_ns=_waits(parts),
        closed=all(part.closed for part in parts if part.follows is not None)
        and any(part.closed for part in parts),
    )


def _chains(parts: Sequence[Workload]) -> tuple[Ints, Ints]:
    """Ids that no two parts share, and how many each request has."""
    ids, lengths, known = [], [], 0
    for part in parts:
        if part.unit and len(part.chain):
            dense = part.chain
            if dense.max() > _SPARSE * len(dense):  # only files written by hand are
                _, dense = np.unique(dense, return_inverse=True)
            ids.append(dense + known)
            known += int(dense.max()) + 1
        lengths.append(np.diff(part.chain_start) if part.unit else np.zeros(len(part), np.int64))
    return np.concatenate(ids) if ids else np.zeros(0, np.int64), np.concatenate(lengths)


def _follows(parts: Sequence[Workload]) -> Ints | None:
    """Places of the requests followed, among those of all parts."""
    if all(part.follows is None for part in parts):
        return None
    before, columns = 0, []
    for part in parts:
        follows = np.full(len(part), -1, np.int64) if part.follows is None else part.follows
        columns.append(np.where(follows < 0, follows, follows + before))
        before += len(part)
    return np.concatenate(columns)


def _waits(parts: Sequence[Workload]) -> Ints | None:
    if all(part.waits_ns is None for part in parts):
        return None
    unknown = (np.full(len(part), -1, np.int64) if part.waits_ns is None else part.waits_ns for part in parts)
    return np.concatenate(list(unknown))


def _several(columns: Sequence[Ints | None], parts: Sequence[Workload]) -> Ints | None:
    """One column after the other, 0 where a part has none; None where nobody has one."""
    if all(column is None for column in columns):
        return None
    pairs = zip(columns, parts, strict=True)
    return np.concatenate([np.zeros(len(part), np.int64) if c is None else c for c, part in pairs])


def _priority(part: Workload) -> Ints:
    return np.zeros(len(part), np.int64) if part.priority is None else part.priority


def _identified(part: Workload) -> Ints:
    return part.identified if part.unit else np.zeros(len(part), np.int64)


def _left_out(parts: Sequence[Workload]) -> tuple[LeftOut, ...]:
    """Counts by reason; a line number says nothing without its file."""
    counts: Counter[str] = Counter()
    for part in parts:
        for group in part.left_out:
            counts[group.reason] += group.count
    return tuple(LeftOut(reason, count) for reason, count in counts.items())


def _assumed(parts: Sequence[Workload]) -> tuple[str, ...]:
    """Each sentence once; those that not all files share with how many do, the most common ones first."""
    counts = Counter(sentence for part in parts for sentence in part.assumed)
    said = [
        sentence if count == len(parts) else f"{sentence} (in {count:,} of {len(parts):,} files)"
        for sentence, count in counts.most_common(_SHOWN)
    ]
    more = len(counts) - len(said)
    return (*said, f"and {more:,} more about single files") if more else tuple(said)
