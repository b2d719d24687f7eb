"""Arrays as bytes: what differs from a former array of the same name, in as few bytes a number as do.

Every array is looked at as unsigned 64-bit patterns, floating point ones too, so nothing is ever rounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from struct import Struct
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Plane: TypeAlias = NDArray[Any]  # one dimension; 8-byte floats, or integers of any size
Planes: TypeAlias = Mapping[str, Plane]
Places: TypeAlias = NDArray[np.int64]

NOWHERE: Final[Mapping[str, Places]] = MappingProxyType({})
_ENTRY = Struct("<BIiIBB")  # plane, length, shift, changes (or WHOLE), bytes a place, bytes a value
_WHOLE = 0xFFFFFFFF
_LONG = 8  # bytes
_ZERO = np.zeros(1, np.int64)
_UNSIGNED = {width: np.dtype(f"<u{width}") for width in (1, 2, 4, 8)}
_SPARSE = 3  # a change costs as much as so many plain values


class Shape(NamedTuple):
    """What a plane is made of: rows of `width` numbers, told apart by the first `key` ones. Rows of a plane
    without a key stay where they are; others move up and down, as in a queue."""

    dtype: type
    width: int = 1
    key: int = 0


class _Change(NamedTuple):
    """How a plane differs from a former one that was moved by `shift`."""

    plane: int
    length: int
    shift: int
    gaps: NDArray[np.int64] | None  # from each place that changed to the next; None = all are written
    values: NDArray[np.int64]  # differences there


def encode(
    old: Planes, new: Planes, shapes: Mapping[str, Shape], places: Mapping[str, Places] = NOWHERE
) -> bytes:
    """Bytes that turn `old` into `new`; planes that are missing from `old` count as empty. `places`: where
    planes can differ at most, ascending, of those of which that is known."""
    changes = []
    for at, (name, shape) in enumerate(shapes.items()):
        before, after = old.get(name), new[name]
        if before is None:
            before = np.zeros(0, shape.dtype)
        if before is not after and (len(before) or len(after)):
            shift = _shift(before, after, shape)
            change = _change(at, before, after, shift, places.get(name))
            if change is not None:
                changes.append(change)
    return _written(changes)


def _change(at: int, before: Plane, after: Plane, shift: int, places: Places | None) -> _Change | None:
    length = len(after)
    moved = before if not shift and len(before) == length else _moved(before, shift, length)
    if places is None or moved is not before:
        (changed,) = (moved != after).nonzero()
    else:
        changed = places[moved[places] != after[places]]
    count = len(changed)
    if not count and moved is before:
        return None
    if _SPARSE * count > length:
        return _Change(at, length, shift, None, _signed(after) - _signed(moved))
    gaps = changed + 1
    gaps[1:] -= changed[:-1] + 1
    return _Change(at, length, shift, gaps, _signed(after[changed]) - _signed(moved[changed]))


def _written(changes: Sequence[_Change]) -> bytes:
    """All numbers are looked at together: there are many changes, and few numbers in each."""
    arrays = [array for change in changes for array in (change.gaps, change.values) if array is not None]
    narrow = _narrow(arrays)
    parts = []
    for plane, length, shift, gaps, _ in changes:
        wide, places = (0, b"") if gaps is None else next(narrow)
        width, values = next(narrow)
        count = _WHOLE if gaps is None else len(gaps)
        parts += [_ENTRY.pack(plane, length, shift, count, wide, width), places, values]
    return b"".join(parts)


def _shift(before: Plane, after: Plane, shape: Shape) -> int:
    """Numbers by which `before` has moved to the front (or, below 0, to the back) to become `after`."""
    if not shape.key or not len(before) or not len(after):
        return 0
    if before[: shape.key].tolist() == after[: shape.key].tolist():
        return 0
    old, new = (plane.reshape(-1, shape.width)[:, : shape.key] for plane in (before, after))
    for rows, first, sign in ((old, new[0], 1), (new, old[0], -1)):
        found = np.flatnonzero((rows == first).all(1))
        if len(found):
            return sign * int(found[0]) * shape.width
    return 0


def _moved(plane: Plane, shift: int, length: int) -> Plane:
    """A copy of `length` numbers, moved; filled up with zeros."""
    result = np.zeros(length, plane.dtype)
    part = plane[max(shift, 0) :][: length + min(shift, 0)]
    start = max(-shift, 0)
    result[start : start + len(part)] = part
    return result


def decode(old: Planes, data: bytes, shapes: Mapping[str, Shape]) -> dict[str, Plane]:
    """The planes that `encode` was given as `new`. Planes without a change are the very same arrays."""
    known = list(shapes.items())
    planes = {name: old.get(name, np.zeros(0, shape.dtype)) for name, shape in known}
    at = 0
    while at < len(data):
        plane, length, shift, count, wide, width = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size
        name, shape = known[plane]
        bits = _signed(_moved(planes[name], shift, length)).view(np.uint64)
        if count == _WHOLE:
            bits = bits + _widened(data, at, length, width)
            at += length * width
        else:
            places = np.cumsum(_widened(data, at, count, wide).astype(np.int64)) - 1
            bits[places] += _widened(data, at + count * wide, count, width)
            at += count * (wide + width)
        planes[name] = _plain(bits, shape.dtype)
    return planes


def _signed(plane: Plane) -> NDArray[np.int64]:
    return plane.view(np.int64) if plane.dtype.itemsize == _LONG else plane.astype(np.int64)


def _plain(bits: NDArray[np.uint64], dtype: type) -> Plane:
    plane = bits.view(np.float64) if dtype is np.float64 else bits.view(np.int64).astype(dtype)
    plane.flags.writeable = False
    return plane


def _narrow(arrays: Sequence[NDArray[np.int64]]) -> Iterator[tuple[int, bytes]]:
    """Of each: the bytes that one of its numbers takes, and all of them, small amounts first, both signs."""
    ends = list(accumulate(map(len, arrays)))
    signed = np.concatenate([*arrays, _ZERO])
    folded = ((signed << 1) ^ (signed >> 63)).view(np.uint64)
    tops = np.maximum.reduceat(folded, [0, *ends]).tolist()
    for start, end, top in zip([0, *ends], ends, tops, strict=False):
        width = _width(top if start < end else 0)
        yield width, folded[start:end].astype(_UNSIGNED[width]).tobytes()


def _width(top: int) -> int:
    """Bytes that a number up to `top` takes: 1, 2, 4 or 8."""
    return 1 << (max(top.bit_length() - 1, 0) // 8).bit_length()


def _widened(data: bytes, at: int, count: int, width: int) -> NDArray[np.uint64]:
    folded = np.frombuffer(data, f"<u{width}", count, at).astype(np.uint64)
    unsigned: NDArray[np.uint64] = (folded >> np.uint64(1)) ^ (np.uint64(0) - (folded & np.uint64(1)))
    return unsigned
