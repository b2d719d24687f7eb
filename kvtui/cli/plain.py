"""`--plain` and `--once`: the run as lines of text, or one moment of it; no screen, no cursor."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.comparison.experiment import Experiment
    from kvtui.comparison.lane import Lane
    from kvtui.tui.view.scene import Scene


def plain(experiment: Experiment, *, every_s: float, speed: float | None, language: str) -> int:
    """A line on standard output every `every_s` virtual seconds and at the end; `speed` virtual seconds a
    second, None for as fast as it goes."""
    from kvtui.tui.view.plainline import plain_line
    from kvtui.tui.view.situation import situation

    told = None
    for scene in _scenes(experiment, every_s):
        now = situation(scene)
        line = plain_line(scene, now if now != told else None, language=language)
        print(line, flush=True)
        told = now
        if speed is not None and not scene.verdict:
            time.sleep(every_s / speed)
    if scene.verdict not in line:
        print(scene.verdict)
    return 0


def once(experiment: Experiment, *, as_json: bool, language: str) -> int:
    """The moment at which the run is cut (`--until`), or its end: a line, or everything as JSON."""
    from kvtui.answers.snapshot import snapshot, stand_at
    from kvtui.tui.view.plainline import plain_line
    from kvtui.tui.view.situation import situation

    until = math.inf if experiment.until_s is None else experiment.until_s
    lanes = replace(experiment, until_s=None).build()  # the moment is found from within
    stand_at(lanes, until)
    if as_json:
        print(json.dumps(snapshot(experiment, lanes), indent=2))
        return 0
    scene = _scene(experiment, lanes, min(until, _end(lanes)))
    print(plain_line(scene, situation(scene), language=language))
    return 0


def _scenes(experiment: Experiment, every_s: float) -> Iterator[Scene]:
    """A scene each interval; the last one, with the verdict, at the end of all lanes."""
    from kvtui.answers.snapshot import stand_at

    lanes = experiment.build()
    time_s = 0.0
    while not all(lane.done for lane in lanes):
        time_s += every_s
        stand_at(lanes, time_s)
        yield _scene(experiment, lanes, min(time_s, _end(lanes)))


def _end(lanes: Sequence[Lane]) -> float:
    """When the last lane ended, infinity before."""
    from kvtui.units import seconds

    return seconds(max(lane.now_ps for lane in lanes)) if all(lane.done for lane in lanes) else math.inf


def _scene(experiment: Experiment, lanes: Sequence[Lane], time_s: float) -> Scene:
    from kvtui.answers.report import summary
    from kvtui.comparison.heading import heading_of
    from kvtui.tui.view.scene import Run, Scene

    ended = all(lane.done for lane in lanes)
    return Scene(
        heading=heading_of(experiment),
        lanes=tuple(lane.info for lane in lanes),
        frames=tuple(lane.frame() for lane in lanes),
        time_s=time_s,
        run=Run.ENDED if ended else Run.RUNNING,
        verdict=str(summary(experiment, lanes)["verdict"]) if ended else "",
    )
