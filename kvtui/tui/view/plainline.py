"""A moment as one line of text, to be read aloud or kept in a log: no colours, no places."""

from __future__ import annotations

from kvtui.tui.view import formats
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.captions import filled
from kvtui.tui.view.clauses import Clause, clauses, lane_clause
from kvtui.tui.view.ink import T2
from kvtui.tui.view.scene import Scene
from kvtui.tui.view.situation import EACH_LANE, Situation
from kvtui.tui.view.words import ENGLISH, say


def plain_line(scene: Scene, told: Situation | None, *, language: str = ENGLISH) -> str:
    """The time, counts of every lane, and where something new is to be told, the sentences that tell it."""
    said = [_counts(scene, lane) for lane in range(len(scene.lanes))]
    if told is not None and told.name in EACH_LANE:
        said += [lane_clause(scene, told, lane) for lane in range(len(scene.lanes))]
    elif told is not None:
        said += clauses(scene, told)
    return "  ".join([formats.clock(scene.time_s), *(_text(clause, language) for clause in said)])


def _counts(scene: Scene, lane: int) -> Clause:
    counters = scene.frames[lane].counters
    numbers = {
        "run": counters.running,
        "wait": counters.waiting,
        "done": counters.finished,
        "preempted": counters.preemptions,
    }
    values = {name: (f"{number:,}", T2) for name, number in numbers.items()}
    key = "plain, preempted" if counters.preemptions else "plain"
    return Clause(key, {"name": (scene.lanes[lane].title, T2), **values})


def _text(clause: Clause, language: str) -> str:
    return plain(filled(say(clause.key, language).wide[0], clause.values))  # what follows is about keys
