"""Everything that one paint of the screen is made from; a drawing reads nothing but its scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from kvtui.frame import Frame, LaneInfo
from kvtui.tui.view.ink import T3, Ink


class Run(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    ENDED = "ended"


@dataclass(frozen=True)
class Heading:
    """What is replayed on what. Empty strings and None are left out of the header."""

    trace: str
    model: str = ""  # "Llama-3.1-8B bf16"
    gpu: str = ""  # "A10G 24 GB"
    label: str = "simulated"
    pool_bytes: int | None = None
    blocks: int = 0
    block_size: int = 16
    seed: int | None = None
    requests: int = 0


@dataclass(frozen=True)
class Mark:
    """Something on the timeline: `kind` is preempted or rejected."""

    time_s: float
    kind: str


@dataclass(frozen=True)
class Scene:
    """Lane 0 is the baseline. `end_s` is None as long as the end of the run is not known."""

    heading: Heading
    lanes: tuple[LaneInfo, ...]
    frames: tuple[Frame, ...]
    time_s: float = 0.0
    run: Run = Run.RUNNING
    speed: str = ""
    focus: int | None = None
    end_s: float | None = None
    marks: tuple[Mark, ...] = ()
    failures: tuple[str | None, ...] = ()

    def same(self, other: Scene | None) -> bool:
        """Whether nothing that is drawn differs. Frames are compared by identity."""
        return (
            other is not None
            and all(mine is theirs for mine, theirs in zip(self.frames, other.frames, strict=True))
            and (self.time_s, self.run, self.speed, self.focus, self.failures)
            == (other.time_s, other.run, other.speed, other.focus, other.failures)
        )

    def failure(self, lane: int) -> str | None:
        return self.failures[lane] if lane < len(self.failures) else None


def titles(lanes: Sequence[LaneInfo]) -> list[str]:
    """Names for sentences: the titles, or the names of lanes whose titles do not tell them apart."""
    plain = [lane.title for lane in lanes]
    return [lane.title if plain.count(lane.title) == 1 else lane.name for lane in lanes]


def short_names(lanes: Sequence[LaneInfo], *, width: int = 6) -> list[str]:
    """Names of at most `width` cells for columns; `lane 2` where a name has no short form."""
    names = {"contiguous": "contig"}
    short = [names.get(lane.name, lane.name) if width < len(lane.name) else lane.name for lane in lanes]
    return [name if len(name) <= width else f"lane {at + 1}" for at, name in enumerate(short)]


def compared(scene: Scene) -> tuple[int, int]:
    """Baseline and the lane it is set against in sentences: the focused one, else the last."""
    last = len(scene.lanes) - 1
    return 0, scene.focus if scene.focus else last


def drained(scene: Scene, lane: int) -> bool:
    """Whether nobody is left to be let in, so that a small batch says nothing about memory."""
    counters = scene.frames[lane].counters
    known = counters.finished + counters.rejected + counters.unfinished
    return not counters.waiting and known >= scene.heading.requests > 0


def unknown(value: object, ink: Ink) -> Ink:
    """The ink of a value: what is not known is as quiet as a label."""
    return T3 if value is None else ink
