"""Reads a recording: any frame of any track, at the price of the frames since its keyframe."""

from __future__ import annotations

import json
import mmap
import zlib
from bisect import bisect_left, bisect_right
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from kvtui.comparison.heading import Heading
from kvtui.errors import RecordingError
from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.recording.happenings import Told
from kvtui.recording.names import described, kinds_of
from kvtui.recording.packing import Planes, decode
from kvtui.recording.pieces import HEAD, Kind, Piece, pieces
from kvtui.recording.planes import SHAPES, Code, Place, frame_of


class Recording:
    """An opened file. One that was cut off ends with its last whole frame."""

    def __init__(self, path: Path) -> None:
        """Open a file.

        Raises:
            RecordingError: it cannot be opened, is no recording, or is damaged.
        """
        self.path = path
        self.about: dict[str, Any] = {}
        self.report: dict[str, Any] | None = None  # of the finished run
        self.tracks: list[Track] = []
        self._data = _mapped(path)
        for piece in pieces(self._data, str(path)):
            self._take(piece)
        if not any(len(track) for track in self.tracks):
            raise RecordingError(f"{path} holds no frame yet", hint="the run ended before its first step")

    def _take(self, piece: Piece) -> None:
        match piece.kind:
            case Kind.ABOUT:
                self.about = self._json(piece)
            case Kind.REPORT:
                self.report = self._json(piece)
            case Kind.LANE:
                info = described(LaneInfo, self._json(piece), self.path)
                self.tracks.append(Track(self._data, info, self._code))
            case Kind.KEYFRAME | Kind.DELTA:
                self.tracks[piece.track].take(piece)
                self.report = None  # it was told before this frame

    @cached_property
    def _code(self) -> Code:
        return Code(self.told("counters"), kinds_of(self.about.get("events")))

    @property
    def heading(self) -> Heading:
        """What is recorded, in a few words."""
        return described(Heading, self.told("heading"), self.path)

    def told(self, name: str) -> Any:
        """Something that every recording says at its start.

        Raises:
            RecordingError: this one does not.
        """
        if name not in self.about:
            raise RecordingError(f"{self.path} does not tell its {name}", hint="use the kvtui that made it")
        return self.about[name]

    def _json(self, piece: Piece) -> dict[str, Any]:
        text = zlib.decompress(self._data[piece.start : piece.start + piece.size])
        value: dict[str, Any] = json.loads(text)
        return value


class _Known(NamedTuple):
    """Where a track was last read."""

    number: int
    planes: Planes
    stream: Any  # what zlib.decompressobj makes
    done: bool


class Track:
    """The frames of one lane, by number from 0 on."""

    def __init__(self, data: memoryview, info: LaneInfo, code: Code) -> None:
        self.info = info
        self._data = data
        self._code = code
        self._pieces: list[Piece] = []
        self._keys: list[int] = []  # numbers of the keyframes
        self._known: _Known | None = None

    def take(self, piece: Piece) -> None:
        """The next frame."""
        if piece.kind == Kind.KEYFRAME:
            self._keys.append(len(self._pieces))
        self._pieces.append(piece)

    def __len__(self) -> int:
        return len(self._pieces)

    def piece(self, index: int) -> Piece:
        """Step and times of a frame."""
        return self._pieces[index]

    def at_step(self, step: int) -> int:
        """Number of the first frame after so many steps; of the last frame where there are fewer."""
        found = bisect_left(self._pieces, step, key=lambda piece: piece.step)
        return min(found, len(self._pieces) - 1)

    def at_time(self, now_ps: int) -> int:
        """Number of the first frame whose next step does not start before `now_ps`."""
        found = bisect_left(self._pieces, now_ps, key=lambda piece: piece.next_ps)
        return min(found, len(self._pieces) - 1)

    def frame(self, index: int, *, rows: int = 64, events: int = 200) -> Frame:
        """A frame, just as it was recorded."""
        known = self._read(index)
        piece = self._pieces[index]
        place = Place(piece.step, piece.now_ps, known.done)
        return frame_of(known.planes, place, self._code, rows=rows, events=events)

    @cached_property
    def chronicle(self) -> Chronicle:
        """Everything that happened, over all frames."""
        told = Told(self._code.kinds)
        for piece in self._pieces:
            if piece.kind == Kind.KEYFRAME:
                stream = zlib.decompressobj()
            data = stream.decompress(self._data[piece.start : piece.start + piece.size])
            _, gains = HEAD.unpack_from(data)
            told.add(data[HEAD.size : HEAD.size + gains])
        return told.chronicle

    def _read(self, index: int) -> _Known:
        key = self._keys[bisect_right(self._keys, index) - 1]
        known = self._known
        if known is None or not key <= known.number <= index:
            known = _Known(key - 1, {}, zlib.decompressobj(), False)
        for at in range(known.number + 1, index + 1):
            piece = self._pieces[at]
            data = known.stream.decompress(self._data[piece.start : piece.start + piece.size])
            done, gains = HEAD.unpack_from(data)
            planes = decode(known.planes, data[HEAD.size + gains :], SHAPES)
            known = _Known(at, planes, known.stream, done)
        self._known = known
        return known


def _mapped(path: Path) -> memoryview:
    try:
        with path.open("rb") as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError:  # an empty file cannot be mapped
        return memoryview(b"")
    except OSError as error:
        raise RecordingError(f"{path} cannot be opened: {error.strerror or error}") from None
