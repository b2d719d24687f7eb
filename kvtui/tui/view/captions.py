"""Which situation the lanes are in, and the sentence that says so; numbers in the colour of their things."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import NamedTuple

from kvtui.frame import Event, EventKind, Frame
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Line, cut, line_width, plain
from kvtui.tui.view.ink import T2, WARN_BOLD, Ink, lane_ink
from kvtui.tui.view.scene import Run, Scene, compared, drained
from kvtui.tui.view.sentences import ENGLISH, Say

HOLD_S = 2.0  # wall seconds for which a situation is told at least
NO_GAIN = 1.1  # ratio of mean batches below which paging wins little
SETTLED = 20  # finished requests from which the means are worth a judgement
NEARLY_NOTHING = 0.01  # share of the pool

Values = Mapping[str, tuple[str, Ink]]


@dataclass(frozen=True)
class Clause:
    """One entry of the table with what goes into its fields."""

    key: str
    values: Values


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
    if not any(frame.step for frame in frames):
        return Situation("start")
    done = [frame.done for frame in frames]
    if any(done) and not all(done):
        return Situation("one done")
    running = [frame.counters.running for frame in frames]
    if not any(running):
        refused = all(frame.counters.rejected and not frame.counters.finished for frame in frames)
        return Situation("nothing ran" if refused else "idle")
    if not any(frame.counters.waiting for frame in frames):
        return Situation("keep up")
    base, other = compared(scene)
    if _paging(scene, base, other) and _level(scene, base, other):
        return Situation("no gain")
    return Situation("full")


def _paging(scene: Scene, base: int, other: int) -> bool:
    """Whether paging is what the two lanes differ in."""
    return scene.lanes[base].manager == "contiguous" and scene.lanes[other].manager == "paged"


def _level(scene: Scene, base: int, other: int) -> bool:
    """Whether both lanes are short of room and yet hold nearly the same on average."""
    a, b = (scene.frames[lane].counters for lane in (base, other))
    enough = a.finished >= SETTLED and a.waiting and b.waiting
    full = _full(scene, base) and _full(scene, other)
    return bool(enough and full and b.batch_mean < NO_GAIN * a.batch_mean)


def _full(scene: Scene, lane: int) -> bool:
    """Whether the next request waits for memory, or as good as nothing is free."""
    frame, info = scene.frames[lane], scene.lanes[lane]
    room = (frame.counters.split.free + frame.counters.split.cached) / 100 - NEARLY_NOTHING
    region = (info.region_blocks or 0) * info.block_size
    wanted = max(frame.waiting[0].tokens, region) if frame.waiting else 0
    return info.pool_tokens * room <= wanted


def _preemption(frame: Frame, lane: int) -> Situation | None:
    """The newest preemption of a lane."""
    newest = (event for event in frame.events if event.kind is EventKind.PREEMPTED)
    event = next(newest, None)
    return Situation("preempted", lane, event) if event else None


def caption(scene: Scene, told: Situation, *, width: int, rows: int) -> tuple[Line, ...]:
    """The sentences of a situation in at most `rows` lines of `width` cells."""
    clauses = _clauses(scene, told)
    if rows == 1:
        clauses = _for_one_line(scene, told.name) or clauses[:1]
    wide = _lines(clauses, 0 if rows > 1 else 2)
    if rows > 1 and max(map(line_width, wide), default=0) > width:
        wide = _lines(clauses, 1)
    return tuple(_fit(line, width) for line in wide[:rows])


def _fit(line: Line, width: int) -> Line:
    return line if line_width(line) <= width else ((cut(plain(line), width), T2),)


def _lines(clauses: list[Clause], form: int) -> list[Line]:
    lines = []
    for clause in clauses:
        say = ENGLISH[clause.key]
        texts = (say.wide, say.narrow or say.wide, _one(say))[form]
        lines += [_filled(text, clause.values) for text in texts]
    return lines


def _one(say: Say) -> tuple[str, ...]:
    return (say.line,) if say.line else (say.narrow or say.wide)[:1]


def _filled(text: str, values: Values) -> Line:
    line: list[tuple[str, Ink]] = []
    for literal, field, _, _ in Formatter().parse(text):
        if literal:
            line.append((literal, T2))
        if field:
            line.append(values[field])
    return tuple(line)


def _clauses(scene: Scene, told: Situation) -> list[Clause]:
    base, other = compared(scene)
    name = told.name
    if name == "end":
        return [_end(scene, base, other)]
    if told.event is not None:
        return [_gave_back(told.lane, told.event)]
    if name == "one done":
        return [_one_done(scene)]
    if name in ("start", "idle", "nothing ran"):
        return [Clause(name, {})]
    pair = _pair(scene, base, other)
    if name == "no gain":
        return [Clause(name, pair)]
    if name == "keep up":
        several = "both keep up" if len(scene.lanes) == 2 else "all keep up"
        return [Clause(several if base != other else "alone keeps up", pair)]
    return [_holds(scene, lane, other if lane == base else base) for lane in dict.fromkeys((base, other))]


def _for_one_line(scene: Scene, name: str) -> list[Clause]:
    """Where one line has to do for both lanes."""
    base, other = compared(scene)
    if name != "full" or base == other:
        return []
    values = _pair(scene, base, other)
    if _paging(scene, base, other) and _full(scene, base) and not drained(scene, other):
        return [Clause("region against blocks", {**values, **_amounts(scene, base)})]
    return [Clause("counts", values)]


def _pair(scene: Scene, base: int, other: int) -> Values:
    values = {}
    for slot, lane in (("0", base), ("1", other)):
        values["run" + slot] = (str(scene.frames[lane].counters.running), lane_ink(lane, bold=True))
    values["name0"] = (scene.lanes[base].title, T2)
    values["name1"] = (scene.lanes[other].name, T2)
    values["base"] = (scene.lanes[base].name, T2)
    return values


def _amounts(scene: Scene, lane: int) -> Values:
    """What a request of a contiguous lane holds and has filled, on average."""
    frame, info = scene.frames[lane], scene.lanes[lane]
    split, running = frame.counters.split, max(1, frame.counters.running)
    held = info.pool_tokens * (split.stored + split.reserved + split.internal) / 100 / running
    return {
        "locked": (f"{held:,.0f}", T2),
        "filled": (f"{frame.mean_filled:,.0f}", WARN_BOLD),
    }


def _holds(scene: Scene, lane: int, against: int) -> Clause:
    """How one lane stands that has no room for all."""
    frame, info = scene.frames[lane], scene.lanes[lane]
    counters = frame.counters
    values = {
        "name": (info.title, T2),
        "run": (str(counters.running), lane_ink(lane, bold=True)),
    }
    if drained(scene, lane):
        return Clause("last", values)
    full = _full(scene, lane)
    if info.manager == "contiguous":
        return Clause("full, region" if full else "room, region", {**values, **_amounts(scene, lane)})
    if key := _cache_contrast(scene, lane, against):
        return Clause(key, {**values, **_sharing(frame), "fit": ("fit" if full else "run", T2)})
    values |= {
        "block": (str(info.block_size), T2),
        "ends": (formats.share(counters.split.tail), T2),
    }
    return Clause("full, blocks" if full else "room, blocks", values)


def _cache_contrast(scene: Scene, lane: int, against: int) -> str:
    """Whether the two lanes differ in the prefix cache: both paged, one alone finding anything in it."""
    if lane == against or any(scene.lanes[at].manager != "paged" for at in (lane, against)):
        return ""
    mine, theirs = (scene.frames[at].counters for at in (lane, against))
    if mine.hit_tokens and not theirs.query_tokens:
        key = "cache on"
    elif theirs.hit_tokens and not mine.query_tokens:
        key = "cache off"
    else:
        return ""
    return key if lane == compared(scene)[0] else f"{key}, too"


def _sharing(frame: Frame) -> Values:
    refs = frame.cells.refs
    shared = refs[refs > 1].astype(int)
    return {
        "shared": (f"{len(shared):,}", T2),
        "saved": (f"{int((shared - 1).sum()):,}", T2),
    }


def _gave_back(lane: int, event: Event) -> Clause:
    return Clause(
        "preempted",
        {
            "victim": (formats.request(event.request), WARN_BOLD),
            "given": (str(event.a), T2),
            "taker": (formats.request(event.b), lane_ink(lane, bold=True)),
        },
    )


def _one_done(scene: Scene) -> Clause:
    done = min(
        (at for at, frame in enumerate(scene.frames) if frame.done), key=lambda at: scene.frames[at].time_s
    )
    late = next(at for at, frame in enumerate(scene.frames) if not frame.done)
    values = {
        "done": (scene.lanes[done].title, T2),
        "end": (formats.clock(scene.frames[done].time_s), lane_ink(done, bold=True)),
        "late": (scene.lanes[late].name, T2),
        "left": (f"{scene.frames[late].counters.unfinished:,}", lane_ink(late, bold=True)),
    }
    return Clause("one done", values)


def _end(scene: Scene, base: int, other: int) -> Clause:
    if scene.verdict and not all(map(whole, scene.frames)):
        return Clause("end, not whole", {"verdict": (scene.verdict, T2)})
    slow, fast = base, other
    if scene.frames[fast].time_s > scene.frames[slow].time_s:
        slow, fast = fast, slow
    times = scene.frames[slow].time_s / max(scene.frames[fast].time_s, 1e-9)
    values = {
        "fast": (scene.lanes[fast].title, T2),
        "slow": (scene.lanes[slow].name, T2),
        "end1": (formats.clock(scene.frames[fast].time_s), lane_ink(fast, bold=True)),
        "end0": (formats.clock(scene.frames[slow].time_s), lane_ink(slow, bold=True)),
        "times": (f"{times:.1f}", T2),
    }
    if slow == fast:
        return Clause("end, alone", values)
    return Clause("end" if times >= 1.05 else "end, level", values)


def whole(frame: Frame) -> bool:
    """Whether every request was served to its end."""
    return not (frame.counters.rejected or frame.counters.unfinished)


class Narrator:
    """Keeps a situation on the screen long enough to be read: it changes at most every `HOLD_S` seconds.

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
        due = now - self._since >= HOLD_S
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
