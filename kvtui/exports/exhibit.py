"""What an export is made from: all lanes at one moment, and what happened until then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvtui.comparison.heading import Heading
from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import EventKind, Frame
from kvtui.frames.inspection import as_of


@dataclass(frozen=True)
class LaneExhibit:
    info: LaneInfo
    frame: Frame
    chronicle: Chronicle

    @property
    def forgotten(self) -> int:
        """Events from the beginning that are no longer known: with them requests, and parts of others."""
        return self.chronicle.events.forgotten


@dataclass(frozen=True)
class Exhibit:
    """`report` is the headless report of this moment, `picture` an SVG of the screen where there is one."""

    heading: Heading
    time_s: float
    report: Mapping[str, Any]
    lanes: tuple[LaneExhibit, ...]
    picture: str = ""


class RequestRow(NamedTuple):
    """One request of one lane until now. Times are virtual seconds, None where it has not come to that or
    its beginning is no longer known; then what is counted from there on is None too."""

    request: int
    prompt: int | None = None
    output: int | None = None
    arrival_s: float | None = None
    admitted_s: float | None = None
    first_token_s: float | None = None
    end_s: float | None = None
    state: str = "waiting"
    preemptions: int | None = 0
    hit_tokens: int | None = 0
    recomputed_tokens: int | None = 0


def request_rows(lane: LaneExhibit) -> list[RequestRow]:
    """All requests that have arrived, by number; without those of which only forgotten events told."""
    found: dict[int, RequestRow] = {}
    late = set()  # those whose beginning is not known
    for event in lane.chronicle.story(as_of(lane.frame)):
        row = found.get(event.request) or RequestRow(event.request)
        if lane.forgotten and event.request not in found and event.kind is not EventKind.ARRIVED:
            late.add(event.request)
        match event.kind:
            case EventKind.ARRIVED:
                row = row._replace(prompt=event.a, output=event.b, arrival_s=event.time_s)
            case EventKind.ADMITTED:
                again = event.a if row.preemptions else 0
                row = row._replace(
                    admitted_s=event.time_s if row.admitted_s is None else row.admitted_s,
                    recomputed_tokens=(row.recomputed_tokens or 0) + again,
                    state="running",
                )
            case EventKind.HIT:
                row = row._replace(hit_tokens=(row.hit_tokens or 0) + event.a)
            case EventKind.FIRST_TOKEN:
                row = row._replace(first_token_s=event.time_s)
            case EventKind.PREEMPTED | EventKind.SWAPPED:
                row = row._replace(preemptions=(row.preemptions or 0) + 1, state="preempted")
            case EventKind.RESTARTED:
                row = row._replace(preemptions=(row.preemptions or 0) + 1, state="preempted")
            case EventKind.FINISHED | EventKind.REJECTED:
                row = row._replace(end_s=event.time_s, state=event.kind.value)
        found[event.request] = row
    for request in late:
        found[request] = _late(found[request])
    return [found[request] for request in sorted(found)]


def _late(row: RequestRow) -> RequestRow:
    """What can still be told of a request whose beginning is not known."""
    state = "unknown" if row.state == "waiting" else row.state
    return row._replace(
        admitted_s=None, state=state, preemptions=None, hit_tokens=None, recomputed_tokens=None
    )
