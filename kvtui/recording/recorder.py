"""Writes a recording while a run goes on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import Any, Final, Protocol

from kvtui.errors import FileIsThere, RecordingError
from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.recording import pieces
from kvtui.recording.happenings import Gains
from kvtui.recording.names import kind_names
from kvtui.recording.packing import Planes, encode
from kvtui.recording.pieces import HEAD, Kind
from kvtui.recording.planes import SHAPES, Writer, counter_names

EVERY: Final = 256  # frames from one keyframe to the next
ROWS: Final = 512  # of a queue that are kept
_LEVEL: Final = 6  # of compression


class Filmed(Protocol):
    """A lane whose frames can be recorded."""

    @property
    def now_ps(self) -> int: ...

    @property
    def next_ps(self) -> int: ...

    @property
    def step_count(self) -> int: ...

    @property
    def done(self) -> bool: ...

    @property
    def chronicle(self) -> Chronicle | None: ...

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame: ...


class Recorder:
    """One file. Every call hands its piece to the operating system before it returns, so a process that is
    killed loses nothing that it has shown."""

    def __init__(self, path: Path, about: Mapping[str, Any], *, force: bool = False) -> None:
        """Open a new file. `about` is kept as JSON; `Recording.about` gives it back.

        Raises:
            FileIsThere: the file exists (without `force`).
            RecordingError: it cannot be written; a new file is taken away again.
        """
        self.path = path
        try:
            self._file = FileIO(path, "w" if force else "x")
        except FileExistsError:
            raise FileIsThere(path, by_force=True) from None
        except OSError as error:
            raise _unwritable(path, error) from None
        self._tracks: list[_Track] = []
        try:
            self._write(pieces.opening())
            self._json(Kind.ABOUT, {**about, "counters": counter_names(), "events": kind_names()})
        except RecordingError:
            self.close()
            if not force:  # a new file that says nothing would be in the way of the next attempt
                path.unlink()
            raise

    def add(self, info: LaneInfo) -> int:
        """A lane; gives the number of its track. Lanes may be added at any time."""
        self._tracks.append(_Track(len(self._tracks)))
        self._json(Kind.LANE, asdict(info), track=len(self._tracks) - 1)
        return len(self._tracks) - 1

    def film(self, track: int, lane: Filmed) -> None:
        """Record the lane as it stands, unless it has been there before: it is called after every step, and
        what is run again after going back is known."""
        if (lane.step_count, lane.done) > self._tracks[track].reached:
            frame = lane.frame(rows=ROWS)
            self.note(track, frame, lane.chronicle, now_ps=lane.now_ps, next_ps=lane.next_ps)

    def reached_by(self, track: int, lane: Filmed) -> bool:
        """Whether the lane stands where its track ends, rather than at a moment that was recorded before."""
        return (lane.step_count, lane.done) >= self._tracks[track].reached

    def note(
        self,
        track: int,
        frame: Frame,
        chronicle: Chronicle | None = None,
        *,
        now_ps: int,
        next_ps: int | None = None,
    ) -> None:
        """The next frame of a track, and what its chronicle has gained. `now_ps` is its time, `next_ps` when
        the following step starts."""
        until = now_ps if next_ps is None else next_ps
        self._write(self._tracks[track].piece(frame, chronicle, now_ps, until))

    def report(self, report: Mapping[str, Any]) -> None:
        """What the run says at its end, or where it was left: it stands for all frames so far."""
        self._json(Kind.REPORT, report)

    def close(self) -> None:
        self._file.close()

    def _json(self, kind: Kind, value: Mapping[str, Any], *, track: int = 0) -> None:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        self._write(pieces.piece(kind, zlib.compress(text.encode()), track=track))

    def _write(self, data: bytes) -> None:
        try:
            left = memoryview(data)
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            raise _unwritable(self.path, error) from None


class _Track:
    """The compression stream of one lane."""

    def __init__(self, number: int) -> None:
        self.reached = (-1, False)  # step and end
        self._number = number
        self._writer = Writer()
        self._planes: Planes = {}
        self._stream = zlib.compressobj(_LEVEL)
        self._gains = Gains()
        self._frames = 0

    def piece(self, frame: Frame, chronicle: Chronicle | None, now_ps: int, next_ps: int) -> bytes:
        """The next frame, in a piece of its own."""
        kind = Kind.DELTA if self._frames % EVERY else Kind.KEYFRAME
        if kind is Kind.KEYFRAME:
            self._planes, self._stream = {}, zlib.compressobj(_LEVEL)
        planes = self._writer.planes(frame, now_ps)
        gains = b"" if chronicle is None else self._gains.take(chronicle)
        changes = encode(self._planes, planes, SHAPES, self._writer.places)
        data = HEAD.pack(frame.done, len(gains)) + gains + changes
        payload = self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)
        self._planes = planes
        self._frames += 1
        self.reached = frame.step, frame.done
        return pieces.piece(
            kind, payload, track=self._number, step=frame.step, now_ps=now_ps, next_ps=next_ps
        )


def _unwritable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(
        f"{path} cannot be written: {error.strerror or error}", hint="check folder and space"
    )
