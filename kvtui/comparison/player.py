"""Drives lanes in step with a shared virtual clock: the only coroutines of the core.

Each lane has one pacing loop. It steps its engine up to the clock's virtual time, at most one time slice at a
stretch, and then makes room for whatever else the event loop has to do: keys, above all.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol

from kvtui.frames.frame import Frame
from kvtui.units import picoseconds, seconds

SLICE_S: Final = 0.008  # longest stretch of steps
LEVEL_S: Final = 0.002  # what a look at the lanes may spend to see them at one moment
BREATH_S: Final = 0.002  # after a stretch, for everybody else
PERIOD_S: Final = 0.02  # how often a lane that keeps up looks at the clock
LONGEST_GAP_S: Final = 0.1  # wall time that counts at most at once, as after a suspension
MEASURED_S: Final = 1.0  # wall time over which the speed reached is measured
ROWS: Final = 64  # of a queue that a frame tells
SAVING: Final = 0.04  # share of the wall time that may go into saving states

Wall = Callable[[], float]
Sleep = Callable[[float], Awaitable[object]]


class Lane(Protocol):
    """What the player needs of an engine."""

    @property
    def now_ps(self) -> int:
        """Virtual time after the last step."""
        ...

    @property
    def next_ps(self) -> int:
        """When the next step starts: later than `now_ps` only where nothing is to be done until then."""
        ...

    @property
    def done(self) -> bool: ...

    @property
    def ready(self) -> bool:
        """Whether `step` would return at once; else somebody is still measuring it."""
        ...

    @property
    def step_count(self) -> int:
        """Scheduler steps done."""
        ...

    def step(self, limit: int = 1) -> bool:
        """At most `limit` scheduler steps; False when nothing is left to do."""
        ...

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        """The lane as it stands."""
        ...


class History(Protocol):
    """What the player needs to go back with a lane: former states of it, each as a new lane."""

    def note(self, lane: Any) -> None:
        """Called after steps; saves the lane now and then."""
        ...

    def at_step(self, step: int) -> Any:
        """The lane after so many steps."""
        ...

    def at_time(self, now_ps: int) -> Any:
        """The lane after every step that starts before `now_ps`."""
        ...


class Clock:
    """Virtual time, moved by wall time that is passed in; `speed` is virtual seconds a wall second."""

    def __init__(self, *, speed: float = 1.0, paused: bool = False) -> None:
        self.now_ps = 0
        self.speed = speed
        self.paused = paused

    @property
    def now_s(self) -> float:
        return seconds(self.now_ps)

    @property
    def unlimited(self) -> bool:
        return math.isinf(self.speed)

    def advance(self, wall_s: float) -> None:
        """Move on by so much wall time; nothing happens while paused."""
        if not self.paused:
            self.now_ps += picoseconds(wall_s * self.speed)


class Player:
    """Runs lanes against one clock: play, pause, step, speed.

    At a limited speed the clock follows wall time and waits for a lane that falls behind. Without a limit it
    moves by a stretch of virtual time whenever all lanes have come up to it.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        *,
        clock: Clock,
        histories: Sequence[History] = (),
        watch: Callable[[int, Any], None] | None = None,
        reached_ps: int = 0,
        wall: Wall = time.perf_counter,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.lanes = [*lanes]
        self.clock = clock
        self.failures: list[Exception | None] = [None] * len(self.lanes)
        self._wall = wall
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._moved = asyncio.Event()
        self._last = wall()
        self._stretch = picoseconds(1.0)  # virtual time of one round without a limit
        self._steps = [0] * len(self.lanes)
        self._shown: list[tuple[int, Frame] | None] = [None] * len(self.lanes)
        self._rows = ROWS
        self._trail: deque[tuple[float, int]] = deque()
        self.histories = tuple(histories)
        self._watch = watch  # is told (number, lane) after every step
        self._furthest = reached_ps
        self._all_ended = reached_ps > 0
        self._since = wall()
        self._saving = 0.0  # wall time spent on it
        self._dearest = 0.0  # and on one state at most

    # ---- what is to be seen

    @property
    def ended(self) -> bool:
        """Whether no lane has anything left to do."""
        return not any(map(self._live, range(len(self.lanes))))

    @property
    def exhausted(self) -> bool:
        """Whether every lane has been at its end, wherever it stands now."""
        return self.ended or self._all_ended

    @property
    def time_s(self) -> float:
        """Virtual time of all lanes, of the latest where one lags; after the end, of the last to finish."""
        if self.ended:
            return seconds(max(lane.now_ps for lane in self.lanes))
        live = [lane.next_ps for at, lane in enumerate(self.lanes) if self._live(at)]
        return seconds(min(self.clock.now_ps, *live))

    @property
    def lagging(self) -> bool:
        """Whether a lane has yet to come up to the clock."""
        return any(map(self._behind, range(len(self.lanes))))

    def frame(self, lane: int) -> Frame:
        """The lane's picture: the same object until it has stepped again."""
        shown = self._shown[lane]
        if shown is None or shown[0] != self._steps[lane]:
            shown = self._steps[lane], self.lanes[lane].frame(rows=self._rows)
            self._shown[lane] = shown
        return shown[1]

    def show_rows(self, rows: int = ROWS) -> None:
        """Frames tell so many rows of the queues from now on."""
        if rows != self._rows:
            self._rows = rows
            self._shown = [None] * len(self.lanes)

    def level(self) -> None:
        """Bring lanes that lag up to the clock, where that takes no time worth mentioning: then what is to be
        seen is one moment in all of them."""
        until = self._wall() + LEVEL_S
        for lane in range(len(self.lanes)):
            while self._can_catch_up(lane) and self._wall() < until:
                self._one(lane)

    def reached(self) -> float | None:
        """Virtual seconds a wall second over the last second; None when there is too little to measure."""
        now = self._wall()
        self._trail.append((now, self.clock.now_ps))
        while len(self._trail) > 2 and now - self._trail[1][0] >= MEASURED_S:
            self._trail.popleft()
        then, ps = self._trail[0]
        return seconds(self.clock.now_ps - ps) / (now - then) if now - then >= MEASURED_S / 2 else None

    # ---- keys

    def pause(self, paused: bool = True) -> None:
        self.clock.paused = paused
        self._wake()

    def set_speed(self, speed: float) -> None:
        self.clock.speed = speed
        self._wake()

    def step(self, lane: int) -> None:
        """One scheduler step of that lane, or of the first that goes on; the others come up to its time."""
        live = [at for at in range(len(self.lanes)) if self._live(at)]
        if live:
            at = lane if lane in live else live[0]
            self._one(at)
            self.clock.now_ps = max(self.clock.now_ps, self.lanes[at].now_ps)
            self._wake()

    # ---- going back, with histories

    @property
    def furthest_ps(self) -> int:
        """The latest moment that all lanes have been at."""
        live = [lane.next_ps for at, lane in enumerate(self.lanes) if self._live(at)]
        now = min([self.clock.now_ps, *live]) if live else max(lane.now_ps for lane in self.lanes)
        self._furthest = max(self._furthest, now)
        return self._furthest

    def note_reached(self, now_ps: int) -> None:
        """A moment that the lanes can go to at once, though not all have been at it."""
        self._furthest = max(self._furthest, now_ps)

    def back(self, lane: int) -> None:
        """Undo one scheduler step of that lane; the others go to its time."""
        assert self.histories, "nothing was kept to go back to"
        if self.lanes[lane].done:  # perhaps long ago
            lane = max(range(len(self.lanes)), key=lambda at: self.lanes[at].now_ps)
        if steps := self.lanes[lane].step_count:
            self.seek(self.histories[lane].at_step(steps - 1).now_ps)

    def seek(self, now_ps: int) -> None:
        """Go to a virtual time: at once to one that has been reached, and on to a later one in the loops."""
        assert self.histories, "nothing was kept to go back to"
        self._all_ended = self.exhausted
        now_ps = max(now_ps, 0)
        known = min(now_ps, self.furthest_ps)
        if now_ps < self.clock.now_ps or self.clock.now_ps < known:
            for lane in range(len(self.lanes)):
                self._restore(lane, known)
        self.clock.now_ps = now_ps
        self._wake()

    def _restore(self, lane: int, now_ps: int) -> None:
        self._steps[lane] += 1
        try:
            if self.failures[lane] is None:
                self.histories[lane].note(self.lanes[lane])  # the way back to here may be long
            self.lanes[lane] = self.histories[lane].at_time(now_ps)
            self.failures[lane] = None
        except Exception as error:  # it fails again where it failed
            self.failures[lane] = error

    def _save(self, lane: int) -> None:
        """Keep the state of a lane, unless that would take too much of the time."""
        start = self._wall()
        if self._saving + self._dearest <= SAVING * (start - self._since):
            self.histories[lane].note(self.lanes[lane])
            took = self._wall() - start
            self._saving += took
            self._dearest = max(self._dearest, took)

    def _wake(self) -> None:
        """Let waiting loops look again; what was measured before no longer counts."""
        self._last = self._since = self._wall()
        self._saving = 0.0
        self._trail.clear()
        self._moved.set()
        self._moved = asyncio.Event()

    # ---- loops

    async def run(self) -> None:
        """All pacing loops, until every lane has ended."""
        self._last = self._wall()
        async with asyncio.TaskGroup() as group:
            for lane in range(len(self.lanes)):
                group.create_task(self._pace(lane), name=f"lane {lane}")

    async def _pace(self, lane: int) -> None:
        while self._live(lane):
            self._tick()
            if self._can_catch_up(lane):
                async with self._turn:
                    self._slice(lane)
                    await self._sleep(BREATH_S if self._behind(lane) else 0)
            elif self._behind(lane):  # whoever measures its next step is not there yet
                await self._sleep(BREATH_S)
            elif self.clock.paused:
                await self._moved.wait()
            else:
                await self._sleep(self._until_next(BREATH_S if self.clock.unlimited else PERIOD_S))

    def _until_next(self, period: float) -> float:
        """Wall time to the next multiple of `period`: all lanes look at the clock at the same time, so that
        none stands behind another when it is looked at."""
        rest = period - self._wall() % period
        return rest if rest > period / 8 else rest + period

    def _tick(self) -> None:
        """Move the clock, unless a lane has yet to come up to it."""
        if self.clock.paused or self.lagging:
            return
        now = self._wall()
        passed, self._last = now - self._last, now
        if not self.clock.unlimited:
            # Never far at once, in wall time as in virtual time: what a late lane lost is not made up for.
            self.clock.advance(min(passed, LONGEST_GAP_S, max(2 * PERIOD_S, 1 / self.clock.speed)))
            return
        # Twice as far next time if that round was short, half as far if it was long.
        if passed < 2 * SLICE_S:
            self._stretch = min(2 * self._stretch, picoseconds(64.0))
        elif passed > 6 * SLICE_S:
            self._stretch = max(self._stretch // 2, picoseconds(1 / 16))
        self.clock.now_ps += self._stretch

    def _slice(self, lane: int) -> None:
        """Steps up to the clock, for at most one time slice."""
        until = self._wall() + SLICE_S
        while self._can_catch_up(lane):
            self._one(lane)
            if self._wall() >= until:
                return

    def _one(self, lane: int) -> None:
        self._steps[lane] += 1
        try:
            self.lanes[lane].step(1)
            if self._watch is not None:
                self._watch(lane, self.lanes[lane])
            if self.histories:
                self._save(lane)
        except Exception as error:  # a broken lane must not stop the others
            self.failures[lane] = error

    def _live(self, lane: int) -> bool:
        return not self.lanes[lane].done and self.failures[lane] is None

    def _behind(self, lane: int) -> bool:
        return self._live(lane) and self.lanes[lane].next_ps < self.clock.now_ps

    def _can_catch_up(self, lane: int) -> bool:
        return self._behind(lane) and self.lanes[lane].ready
