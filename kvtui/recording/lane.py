"""A recorded lane in place of a simulated one: the player cannot tell them apart."""

from __future__ import annotations

from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.recording.reader import Track


class RecordedLane:
    """Plays a track: a step shows its next frame."""

    def __init__(self, track: Track, at: int = 0) -> None:
        self._track = track
        self._at = at

    @property
    def info(self) -> LaneInfo:
        return self._track.info

    @property
    def now_ps(self) -> int:
        """Virtual time."""
        return self._track.piece(self._at).now_ps

    @property
    def next_ps(self) -> int:
        """When the next step starts."""
        return self._track.piece(self._at).next_ps

    @property
    def done(self) -> bool:
        """Whether nothing more was recorded."""
        return self._at >= len(self._track) - 1

    @property
    def ready(self) -> bool:
        """Always: it is written down."""
        return True

    @property
    def step_count(self) -> int:
        """Scheduler steps done."""
        return self._track.piece(self._at).step

    @property
    def chronicle(self) -> Chronicle:
        """What happened, over the whole recording."""
        return self._track.chronicle

    def step(self, limit: int = 1) -> bool:
        """At most `limit` frames further; False when nothing is left."""
        self._at = min(self._at + limit, len(self._track) - 1)
        return not self.done

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        """The frame that was recorded here."""
        return self._track.frame(self._at, rows=rows, events=events)


class Past:
    """Former states of a recorded lane: all of them."""

    def __init__(self, track: Track) -> None:
        self._track = track

    def note(self, lane: RecordedLane) -> None:
        """Nothing to save."""

    def at_step(self, step: int) -> RecordedLane:
        """The lane after so many steps."""
        return RecordedLane(self._track, self._track.at_step(step))

    def at_time(self, now_ps: int) -> RecordedLane:
        """The lane after every step that starts before `now_ps`."""
        return RecordedLane(self._track, self._track.at_time(now_ps))
