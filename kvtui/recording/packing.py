"""Arrays as bytes: what differs from a former array of the same name, in as few bytes a number as do.

Every array is looked at as unsigned 64-bit patterns, floating point ones too, so nothing is ever rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Plane: TypeAlias = NDArray[Any]  # one dimension; 8-byte floats, or integers of any size
Planes: TypeAlias = Mapping[str, Plane]

_ENTRY = Struct("<BIiIBB")  # plane, length, shift, changes (or WHOLE), bytes a place, bytes a value
_WHOLE = 0xFFFFFFFF
_SPARSE = 3  # a change costs as much as so many plain values


class Shape(NamedTuple):
    """What a plane is made of: rows of `width` numbers, told apart by the first `key` ones. Rows of a plane
    without a key stay where they are; others move up and down, as in a queue."""

    dtype: type
    width: int = 1
    key: int = 0


def encode(old: Planes, new: Planes, shapes: Mapping[str, Shape]) -> bytes:
    """Bytes that turn `old` into `new`; planes that are missing from `old` count as empty."""
    parts = []
    for at, (name, shape) in enumerate(shapes.items()):
        before, after = old.get(name), new[name]
        if before is None:
            before = np.zeros(0, shape.dtype)
        if before is not after and (len(before) or len(after)):
            parts.append(_entry(at, before, after, _shift(before, after, shape)))
    return b"".join(parts)


def _entry(at: int, before: Plane, after: Plane, shift: int) -> bytes:
    length = len(after)
    moved = before if not shift and len(before) == length else _moved(before, shift, length)
    (changed,) = (moved != after).nonzero()
    if not len(changed) and moved is before:
        return b""
    if _SPARSE * len(changed) > length:
        width, values = _narrow(_bits(after) - _bits(moved))
        return _ENTRY.pack(at, length, shift, _WHOLE, 0, width) + values
    gaps = changed + 1
    gaps[1:] -= gaps[:-1].copy()
    wide, places = _narrow(gaps.view(np.uint64))
    width, values = _narrow(_bits(after[changed]) - _bits(moved[changed]))
    return _ENTRY.pack(at, length, shift, len(changed), wide, width) + places + values


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
        bits = _bits(_moved(planes[name], shift, length))
        if count == _WHOLE:
            bits = bits + _widened(data, at, length, width)
            at += length * width
        else:
            places = np.cumsum(_widened(data, at, count, wide).astype(np.int64)) - 1
            bits[places] += _widened(data, at + count * wide, count, width)
            at += count * (wide + width)
        planes[name] = _plain(bits, shape.dtype)
    return planes


def _bits(plane: Plane) -> NDArray[np.uint64]:
    if plane.dtype == np.float64:
        return plane.view(np.uint64)
    return plane.astype(np.int64).view(np.uint64)


def _plain(bits: NDArray[np.uint64], dtype: type) -> Plane:
    plane = bits.view(np.float64) if dtype is np.float64 else bits.view(np.int64).astype(dtype)
    plane.flags.writeable = False
    return plane


def _narrow(bits: NDArray[np.uint64]) -> tuple[int, bytes]:
    """Differences with small amounts first, both signs, and the bytes that each takes."""
    signed = bits.view(np.int64)
    folded = ((signed << 1) ^ (signed >> 63)).view(np.uint64)
    width = _width(int(folded.max(initial=0)))
    return width, folded.astype(f"<u{width}").tobytes()


def _width(top: int) -> int:
    """Bytes that a number up to `top` takes: 1, 2, 4 or 8."""
    return 1 << (max(top.bit_length() - 1, 0) // 8).bit_length()


def _widened(data: bytes, at: int, count: int, width: int) -> NDArray[np.uint64]:
    folded = np.frombuffer(data, f"<u{width}", count, at).astype(np.uint64)
    unsigned: NDArray[np.uint64] = (folded >> np.uint64(1)) ^ (np.uint64(0) - (folded & np.uint64(1)))
    return unsigned
