"""What is said of the lanes in a situation: which entry of the tables of words, and what goes into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kvtui.frames.counts import Split
from kvtui.frames.frame import Event, Frame
from kvtui.tui.view import formats
from kvtui.tui.view.ink import T2, WARN_BOLD, Ink, lane_ink
from kvtui.tui.view.scene import Scene, baseline, compared, drained
from kvtui.tui.view.situation import Situation, full, most, paging, whole

Values = Mapping[str, tuple[str, Ink]]


@dataclass(frozen=True)
class Clause:
    """One entry of the table with what goes into its fields."""

    key: str
    values: Values


def clauses(scene: Scene, told: Situation) -> list[Clause]:
    """What is said of all lanes together, a sentence each."""
    base, other = compared(scene)
    name = told.name
    if name == "end":
        return [_end(scene, base, other)]
    if told.event is not None:
        return [_gave_back(told.lane, told.event)]
    if name == "one done":
        return [_one_done(scene)]
    if name == "not yet":
        return [holds(scene, other)]
    if name in ("start", "idle", "turn", "nothing ran"):
        return [Clause(name, {})]
    pair = _pair(scene, base, other)
    if name == "no gain":
        return [Clause(name, pair)]
    if name == "keep up":
        several = "both keep up" if len(scene.lanes) == 2 else "all keep up"
        return [Clause(several if base != other else "alone keeps up", pair)]
    return [holds(scene, lane) for lane in dict.fromkeys((base, other))]


def for_one_line(scene: Scene, name: str) -> list[Clause]:
    """Where one line has to do for both lanes."""
    base, other = compared(scene)
    if name != "full" or base == other:
        return []
    values = _pair(scene, base, other)
    if paging(scene, base, other) and full(scene, base) and not drained(scene, other):
        at = {"run0": (str(most(scene, base)), lane_ink(base, bold=True))}
        return [Clause("region against blocks", {**values, **_amounts(scene, base), **at})]
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


def lane_clause(scene: Scene, told: Situation, lane: int) -> Clause:
    """What is said under one lane."""
    if told.event is not None and told.lane == lane:
        return _gave_back(lane, told.event)
    return holds(scene, lane)


def holds(scene: Scene, lane: int) -> Clause:
    """How one lane stands that has no room for all."""
    base, other = compared(scene)
    against = other if lane == base else base
    frame, info = scene.frames[lane], scene.lanes[lane]
    if scene.ahead(lane):
        at = formats.clock(info.since_s), lane_ink(lane, bold=True)
        return Clause("not yet", {"name": (info.title, T2), "at": at})
    counters = frame.counters
    values = {
        "name": (info.title, T2),
        "run": (str(counters.running), lane_ink(lane, bold=True)),
    }
    if frame.done:
        return Clause("done", values | {"end": (formats.clock(frame.time_s), lane_ink(lane, bold=True))})
    if drained(scene, lane):
        return Clause("last", values)
    no_room = full(scene, lane)
    if info.manager == "contiguous":
        if no_room:
            values["run"] = (str(most(scene, lane)), lane_ink(lane, bold=True))
        return Clause("full, region" if no_room else "room, region", {**values, **_amounts(scene, lane)})
    if key := _cache_contrast(scene, lane, against):
        return Clause(key, {**values, **_sharing(frame)})
    values |= {
        "block": (str(info.block_size), T2),
        "ends": (_ends(counters.split), T2),
    }
    return Clause("full, blocks" if no_room else "room, blocks", values)


def _ends(split: Split) -> str:
    """The share of block ends as the parts of memory have it, which are rounded so as to add up to 100 %."""
    return formats.shares(split, whole=False)[split._fields.index("tail")]


def _cache_contrast(scene: Scene, lane: int, against: int) -> str:
    """Whether the two lanes differ in the prefix cache: both paged, one alone finding anything in it."""
    if (
        lane == against
        or scene.ahead(against)
        or any(scene.lanes[at].manager != "paged" for at in (lane, against))
    ):
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
        "preempted itself" if event.b == event.request else "preempted",
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
    last = scene.frames[late].counters.unfinished == 1
    return Clause("one done, one left" if last else "one done", values)


def _end(scene: Scene, base: int, other: int) -> Clause:
    apart = baseline(scene, other) == other != base  # nobody else keeps its clock
    if scene.verdict and (apart or not all(map(whole, scene.frames))):
        return Clause("end, not whole", {"verdict": (scene.verdict, T2)})
    slow, fast = baseline(scene, other), other
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
