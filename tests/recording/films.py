"""Recordings of small runs, made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from kvtui.answers.report import summary
from kvtui.comparison.experiment import Experiment
from kvtui.frames.frame import Frame
from kvtui.recording.filming import Filming
from tests.tui.stagecraft import small


def film(path: Path, experiment: Experiment, *, report: bool = True, steps: int = 10**9) -> None:
    """Record a run, one lane after the other."""
    filming = Filming(path, experiment)
    lanes = experiment.build()
    for lane in lanes:
        filming.take(lane)
        while lane.step_count < steps and lane.step():
            filming.take(lane)
        filming.take(lane)
    if report:
        filming.finish(summary(experiment, lanes))


@cache
def filmed() -> Path:
    """`small(requests=150)`, to its end."""
    path = Path(mkdtemp()) / "run.kvtui"
    film(path, small(requests=150))
    return path


@cache
def straight(at: int) -> tuple[Frame, ...]:
    """A frame of lane `at` of the same run after every step."""
    lane = small(requests=150).build()[at]
    frames = [lane.frame()]
    while lane.step():
        frames.append(lane.frame())
    return (*frames, lane.frame())  # the last call does no step, but tells that it is done
