"""The file of a recording: pieces one after the other, each whole or not there at all.

    magic, version | piece | piece | ...        piece = header, payload

A piece is written by one call and carries its own checksum, so a run that is killed leaves a file whose last
piece may be torn and is left out; everything before it counts. All numbers are little-endian.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import NamedTuple
from zlib import crc32

from kvtui.errors import RecordingError

MAGIC = b"kvtui recording\n"
VERSION = 1
_VERSION = Struct("<I")
_HEADER = Struct("<BBIIQQI")  # kind, track, step, size, now_ps, next_ps, checksum
HEAD = Struct("<?I")  # of a frame's uncompressed payload: whether the run has ended, bytes of its gains
START = len(MAGIC) + _VERSION.size


class Kind(IntEnum):
    """What a piece holds. A reader passes over kinds that it does not know."""

    ABOUT = 0  # JSON: what is recorded
    LANE = 1  # JSON: the lane of a track
    KEYFRAME = 2  # a whole frame; starts a new compression stream of its track
    DELTA = 3  # what differs from the frame before
    REPORT = 4  # JSON: the report of the finished run


class Piece(NamedTuple):
    """A piece without its payload, and where in the file that lies."""

    kind: int
    track: int
    step: int
    now_ps: int
    next_ps: int
    start: int
    size: int


def opening() -> bytes:
    """The first bytes of a file."""
    return MAGIC + _VERSION.pack(VERSION)


def piece(
    kind: Kind, payload: bytes, *, track: int = 0, step: int = 0, now_ps: int = 0, next_ps: int = 0
) -> bytes:
    """A piece ready to be written."""
    place = kind, track, step, len(payload), now_ps, next_ps
    checksum = crc32(payload, crc32(_HEADER.pack(*place, 0)))
    return _HEADER.pack(*place, checksum) + payload


def pieces(data: memoryview, path: str) -> Iterator[Piece]:
    """All whole pieces of a file. Only the last may be torn.

    Raises:
        RecordingError: it is no recording, one of a later version, or damaged in the middle.
    """
    _check_opening(bytes(data[:START]), path)
    at = START
    while at + _HEADER.size <= len(data):
        kind, track, step, size, now_ps, next_ps, checksum = _HEADER.unpack_from(data, at)
        start, end = at + _HEADER.size, at + _HEADER.size + size
        if end > len(data):
            return
        expected = _HEADER.pack(kind, track, step, size, now_ps, next_ps, 0)
        if crc32(data[start:end], crc32(expected)) != checksum:
            if end == len(data):
                return
            raise RecordingError(
                f"{path} is damaged at byte {at:,}", hint="what was recorded before cannot be told from it"
            )
        yield Piece(kind, track, step, now_ps, next_ps, start, size)
        at = end


def _check_opening(head: bytes, path: str) -> None:
    if len(head) < START or not head.startswith(MAGIC):
        raise RecordingError(
            f"{path} is not a recording of kvtui", hint="kvtui run ... --record FILE makes one"
        )
    (version,) = _VERSION.unpack(head[len(MAGIC) :])
    if version != VERSION:
        raise RecordingError(
            f"{path} is a recording of format {version}; this kvtui reads format {VERSION}",
            hint="use the kvtui that made it, or a later one",
        )
