"""Which situation the lanes are in, and how long it is told."""

from __future__ import annotations

from typing import Final, NamedTuple

from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Event, EventKind, Frame
from kvtui.tui.view.scene import Run, Scene, compared

HOLD_S: Final = 2.0  # wall seconds for which a situation is told at least
NO_GAIN: Final = 1.1  # ratio of mean batches below which paging wins little
SETTLED: Final = 20  # finished requests from which the means are worth a judgement
CLAIMS: Final = ("idle", "keep up", "turn")  # situations that say whether anybody runs and waits
EACH_LANE: Final = ("full", "preempted")  # situations in which every lane has a sentence of its own
NEARLY_NOTHING: Final = 0.01  # share of the pool


class Situation(NamedTuple):
    """What is to be told; of a preemption also where and what."""

    name: str
    lane: int = -1
    event: Event | None = None


def situation(scene: Scene) -> Situation:
    """The standing situation; momentary events are `Narrator`'s."""
    frames = scene.frames
    if scene.run is Run.ENDED:
        return Situation("end")
    if scene.ahead(compared(scene)[1]):
        return Situation("not yet")
    if not any(frame.step for frame in frames):
        return Situation("start")
    done = [frame.done for frame in frames]
    if any(done) and not all(done):
        return Situation("one done")
    running = [frame.counters.running for frame in frames]
    waiting = any(frame.counters.waiting for frame in frames)
    if not any(running):
        refused = all(frame.counters.rejected and not frame.counters.finished for frame in frames)
        return Situation("nothing ran" if refused else "turn" if waiting else "idle")
    if not waiting:
        return Situation("keep up")
    base, other = compared(scene)
    if paging(scene, base, other) and _level(scene, base, other):
        return Situation("no gain")
    return Situation("full")


def paging(scene: Scene, base: int, other: int) -> bool:
    """Whether paging is what the two lanes differ in."""
    return scene.lanes[base].manager == "contiguous" and scene.lanes[other].manager == "paged"


def _level(scene: Scene, base: int, other: int) -> bool:
    """Whether both lanes are short of room and yet hold nearly the same on average."""
    a, b = (scene.frames[lane].counters for lane in (base, other))
    enough = a.finished >= SETTLED and a.waiting and b.waiting
    both_full = full(scene, base) and full(scene, other)
    alike = scene.lanes[base].label == scene.lanes[other].label  # times of one kind
    return bool(alike and enough and both_full and b.batch_mean < NO_GAIN * a.batch_mean)


def full(scene: Scene, lane: int) -> bool:
    """Whether the next request waits for memory, or as good as nothing is free."""
    frame, info = scene.frames[lane], scene.lanes[lane]
    room = (frame.counters.split.free + frame.counters.split.cached) / 100 - NEARLY_NOTHING
    if frame.waiting and info.manager == "contiguous" and not info.region_blocks:
        return frame.counters.split.free <= 0  # what is free is a hole where the next one does not fit
    wanted = frame.waiting[0].tokens if frame.waiting and not info.region_blocks else 0
    return info.pool_tokens * room <= max(wanted, region_tokens(info))


def region_tokens(info: LaneInfo) -> int:
    """Slots of a full reservation, 0 where nothing is reserved."""
    return (info.region_blocks or 0) * info.block_size


def most(scene: Scene, lane: int) -> int:
    """How many run at once in a lane that is full. Where all regions are of one size, the room of one that
    has just come free counts as taken: the next request is let in with the next step."""
    counters, info = scene.frames[lane].counters, scene.lanes[lane]
    region = region_tokens(info)
    fitting = info.pool_tokens * counters.split.free / 100 / region if region else 0
    return counters.running + int(fitting + NEARLY_NOTHING)


def _preemption(frame: Frame, lane: int) -> Situation | None:
    """The newest preemption of a lane."""
    newest = (event for event in frame.events if event.kind is EventKind.PREEMPTED)
    event = next(newest, None)
    return Situation("preempted", lane, event) if event else None


def whole(frame: Frame) -> bool:
    """Whether every request was served to its end."""
    return not (frame.counters.rejected or frame.counters.unfinished)


class Narrator:
    """Keeps a situation on the screen long enough to be read: it changes at most every `HOLD_S` seconds,
    but that a claim which is not true any more is not told a moment longer.

    The first preemption of each lane is told once; after that only while the run stands still on it.
    """

    def __init__(self) -> None:
        self._told = Situation("start")
        self._since = float("-inf")
        self._known: set[int] = set()

    def tell(self, scene: Scene, *, now: float) -> Situation:
        """The situation to tell at wall time `now`."""
        news = self._news(scene)
        told = news or situation(scene)
        due = now - self._since >= HOLD_S or self._told.name in CLAIMS
        if told != self._told and (due or news or scene.run is not Run.RUNNING):
            self._told, self._since = told, now
        return self._told

    def _news(self, scene: Scene) -> Situation | None:
        for lane, frame in enumerate(scene.frames):
            found = _preemption(frame, lane)
            if found is None or found.event is None:
                continue
            standing = scene.run is Run.PAUSED and found.event.step == frame.step
            if standing or (lane not in self._known and scene.run is Run.RUNNING):
                self._known.add(lane)
                return found
        return None
