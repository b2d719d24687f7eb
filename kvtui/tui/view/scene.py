"""Everything that one paint of the screen is made from; a drawing reads nothing but its scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from kvtui.comparison.heading import Heading
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.frames.inspection import Inspected
from kvtui.hardware.money import Rate, usd_per_million_tokens
from kvtui.serving.measured import DeviceState
from kvtui.terms import TPOT, TTFT
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import cut, text_width
from kvtui.tui.view.ink import T3, Ink
from kvtui.tui.view.listing import ALL, Listing
from kvtui.tui.view.words import ENGLISH, phrase, word
from kvtui.units import kept_text

if TYPE_CHECKING:
    from kvtui.live.watch import Snapshot


class Run(Enum):
    RUNNING = "running"
    PAUSED = "paused"
    SEARCHING = "searching"
    ENDED = "ended"


@dataclass(frozen=True)
class Mark:
    """Something on the timeline: `kind` is preempted or rejected."""

    time_s: float
    kind: str


@dataclass(frozen=True)
class Scene:
    """Lane 0 is the baseline. `end_s` is None as long as the end of the run is not known, `verdict` empty."""

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
    verdict: str = ""  # what the whole run says
    device: DeviceState | None = None  # where steps are carried out
    reached_s: float = 0.0  # furthest point that has been reached
    filming: bool = False  # whether a recording is being made
    snapshots: tuple[Snapshot, ...] = ()  # of real servers
    told: tuple[str, ...] = ()  # sentences in place of those about simulated lanes
    inspected: Inspected | None = None
    listing: Listing = ALL  # which rows of the queues are seen
    language: str = ENGLISH

    def word(self, english: str) -> str:
        """A label in the language of the screen."""
        return word(english, self.language)

    def phrase(self, english: str) -> str:
        """Parts with numbers in them, in the language of the screen."""
        return phrase(english, self.language)

    def same(self, other: Scene | None) -> bool:
        """Whether nothing that is drawn differs. Frames are compared by identity."""
        return (
            other is not None
            and all(mine is theirs for mine, theirs in zip(self.frames, other.frames, strict=True))
            and (self.time_s, self.run, self.speed, self.focus, self.failures, self.filming)
            == (other.time_s, other.run, other.speed, other.focus, other.failures, other.filming)
            and self.inspected is other.inspected
            and (self.listing, self.told) == (other.listing, other.told)
        )

    def ahead(self, lane: int) -> bool:
        """Whether the lane has yet to branch off."""
        return self.time_s < self.lanes[lane].since_s

    def failure(self, lane: int) -> str | None:
        return self.failures[lane] if lane < len(self.failures) else None


def labels(lanes: Sequence[LaneInfo], *, width: int) -> list[str]:
    """The titles in at most `width` cells each; where their beginnings are alike, with their ends."""
    short = [cut(lane.title, width) for lane in lanes]
    if len(set(short)) == len(short):
        return short
    return [_ends(lane.title, width) for lane in lanes]


def _ends(title: str, width: int) -> str:
    if text_width(title) <= width:
        return title
    end = title
    while text_width(end) > width - 2:
        end = end[1:]
    return f"{title[0]}…{end}"


def compared(scene: Scene) -> tuple[int, int]:
    """Baseline and the lane it is set against in sentences: the focused one, else the last."""
    last = len(scene.lanes) - 1
    return 0, scene.focus if scene.focus else last


def baseline(scene: Scene, lane: int) -> int:
    """The lane that a lane's figures are set against: the first by the same clock, be it itself. What is
    measured on a device and what is predicted for a GPU, or told by a server, say nothing of each other."""
    measured = scene.lanes[lane].label == "measured"
    return next(at for at, info in enumerate(scene.lanes) if (info.label == "measured") == measured)


def comparable(scene: Scene, lane: int) -> bool:
    """Whether a lane keeps the clock of the first."""
    return baseline(scene, lane) == 0


def error_words(heading: Heading) -> str:
    """How far off predicted times were where others had measured; nothing where that is not known."""
    if not (heading.tpot_error and heading.ttft_error):
        return ""
    elsewhere = f" None was measured on {heading.unmeasured}." if heading.unmeasured else ""
    return f"Predicted: {TPOT.name} {heading.tpot_error}, {TTFT.name} {heading.ttft_error}.{elsewhere}"


def drained(scene: Scene, lane: int) -> bool:
    """Whether nobody is left to be let in, so that a small batch says nothing about memory."""
    if not scene.heading.requests or scene.lanes[lane].label == "live":
        return False  # nobody knows who is still to come
    counters = scene.frames[lane].counters
    known = counters.finished + counters.rejected + counters.unfinished
    everybody = known >= scene.heading.requests
    return everybody and not counters.waiting and counters.running == counters.unfinished


def slo_kept(scene: Scene, lane: int, *, whole: bool = False) -> str:
    """The share that kept the limits, of the requests of which it is known; empty without any limit."""
    counters = scene.frames[lane].counters
    if not scene.heading.slo:
        return ""
    ended = (counters.finished or 0) + (counters.rejected or 0) + counters.late
    if counters.good is None or not ended:
        return formats.NA
    return f"{100 * counters.good // ended}%" if whole else kept_text(counters.good / ended)


def dollars(scene: Scene, lane: int) -> str:
    """What a million generated tokens cost on the GPU that is simulated; empty without a price."""
    hour = scene.heading.usd_per_hour
    if hour is None:
        return ""
    if scene.lanes[lane].label == "measured":
        return formats.NA
    speed = scene.frames[lane].counters.output_tokens_per_s
    usd = usd_per_million_tokens(Rate(hour, ""), gpus=1, tokens_per_s=speed)  # the hour is that of all GPUs
    return formats.NA if usd is None else f"{usd:,.2f}"


def unknown(value: object, ink: Ink) -> Ink:
    """The ink of a value: what is not known is as quiet as a label."""
    return T3 if value is None else ink
