"""Going through time: by steps, to a moment, to where something happened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from kvtui.comparison.player import BREATH_S, Clock, Player
from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import EventKind
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.timeline import Marks
from kvtui.units import picoseconds

Kinds = Iterable[EventKind]

MARKED: Final = (EventKind.PREEMPTED, EventKind.EVICTED, EventKind.REJECTED)
FURTHER_S: Final = 0.5  # virtual seconds run at once while looking for an event
JUST_PS: Final = 1000  # more than is lost where a time goes through floating point seconds


class Travel:
    """The part of a stage that stands still at other moments."""

    player: Player
    lanes: tuple[LaneInfo, ...]
    _clock: Clock
    _marks: Marks
    _held: bool

    @property
    def run(self) -> Run:
        raise NotImplementedError

    @property
    def target(self) -> int:
        raise NotImplementedError

    def scene(self) -> Scene:
        raise NotImplementedError

    def chronicle(self, lane: int) -> Chronicle:
        raise NotImplementedError

    def step(self) -> None:
        """One step of the chosen lane, while paused; the others come up to its time."""
        if self._clock.paused:
            self.player.step(self.target)

    def back(self) -> None:
        """One step of the chosen lane undone, while nothing runs; the others go to its time."""
        if self.run is not Run.RUNNING:
            self._stand()
            self.player.back(self.target)

    def go_to(self, time_s: float) -> None:
        """Stand still at a time: at once if it has been reached before."""
        self._stand()
        self.player.seek(picoseconds(time_s))

    def go_to_end(self) -> None:
        """Stand still at the furthest point reached; behind the last step if that is the end."""
        self._stand()
        self.player.seek(self.player.furthest_ps + (1 if self.at_end else 0))

    def next_event(self, kinds: Kinds = MARKED, *, after_ps: int | None = None) -> bool:
        """Stand still at the next event of these kinds, after now or so; False if none is known."""
        after = self._clock.now_ps if after_ps is None else after_ps
        return self._go_to_event([at for at in self._events(kinds) if at > after][:1])

    def previous_event(self, kinds: Kinds = MARKED) -> bool:
        """The same for the one before."""
        return self._go_to_event([at for at in self._events(kinds) if at < self._clock.now_ps][-1:])

    @property
    def at_end(self) -> bool:
        """Whether nothing is left that could still happen: everything has been run."""
        return self.player.exhausted

    async def look_further(self) -> None:
        """Run on a little and note what happens."""
        self._stand()
        self.player.seek(self.player.furthest_ps + picoseconds(FURTHER_S))
        while self.player.lagging:
            await asyncio.sleep(BREATH_S)
        self.scene()

    def _go_to_event(self, found: list[int]) -> bool:
        self._stand()
        for at in found:
            self.player.seek(at)
        return bool(found)

    def _events(self, kinds: Kinds) -> list[int]:
        """Moments at which a step in which such a thing happened has just begun, in any lane."""
        kinds = tuple(kinds)
        found = [self.chronicle(lane).moments(kinds) for lane in range(len(self.lanes))]
        moments = {at + 1 for each in found for at in each.tolist()}
        if not all(self.chronicle(lane).events.total for lane in range(len(self.lanes))):
            marks = (mark for mark in self._marks.all() if mark.kind in kinds)
            moments |= {picoseconds(mark.time_s) + JUST_PS for mark in marks}
        return sorted(moments)

    def _stand(self) -> None:
        self._held = False
        self.player.pause()
