"""Real servers on the stage: they go on whether somebody looks or not, and nothing of them can be changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import Heading
from kvtui.live.report import stale, summary
from kvtui.live.session import LiveLane, Memory, Session
from kvtui.live.watch import Snapshot
from kvtui.tui.show import Cast

NEWS_S: Final = 6.0  # for which something that happened to a server is told
SLOTS: Final = "Each slot is drawn where it is: stored, held empty, kept for reuse."
CONTENT: Final = "The grid shows cached content at cells given here; what is in use is the bar's."
MISSING: Final = "KV events are missing: the map of cached content is not whole."
USAGE: Final = "Where blocks lie is not published: what is in use is drawn from the first cell on."
NOTHING: Final = "{title} does not tell how full its KV memory is."


class LiveShow:
    """What is seen of servers since the screen opened; pausing freezes the view, not the watching."""

    experiment: Experiment | None = None
    fixed = "These are real servers: nothing of them can be changed here."

    def __init__(self, session: Session, heading: Heading, *, contents: bool = False) -> None:
        self.heading = heading
        self._session = session
        self._contents = contents

    @property
    def edge_ps(self) -> int | None:
        """Now."""
        return self._session.now_ps

    def cast(self) -> Cast:
        tapes = self._session.tapes
        lanes = [LiveLane(tape, tape.newest) for tape in tapes]
        return Cast(tuple(tape.info for tape in tapes), lanes, [Memory(tape) for tape in tapes])

    def close(self) -> None:
        """Whoever opened the session closes it."""

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        return summary([lane.seen.snapshot for lane in lanes])

    def watch(self, at: int, lane: Any) -> None:
        """The session has told already."""

    def snapshots(self, lanes: Sequence[Any]) -> tuple[Snapshot, ...]:
        return tuple(lane.seen.snapshot for lane in lanes)

    def told(self, lanes: Sequence[Any]) -> tuple[str, ...]:
        """What is the matter with a server; else how its memory is drawn, and what else there is to know."""
        news = [text for lane in lanes if (text := _news(lane))]
        usual = [text for lane in lanes for text in (self._drawn(lane), *lane.seen.snapshot.notes)]
        return tuple(dict.fromkeys([*news, *usual]))

    def _drawn(self, lane: LiveLane) -> str:
        info, reading = lane.info, lane.seen.snapshot.reading
        if info.region_blocks:
            return SLOTS
        if reading.usage.value is None and not reading.notes:
            return NOTHING.format(title=info.title)
        if not self._contents:
            return USAGE
        return MISSING if lane.seen.missing else CONTENT


def _news(lane: LiveLane) -> str:
    snapshot = lane.seen.snapshot
    if words := stale(snapshot):
        return f"{lane.info.title} {words}"
    if snapshot.marks and snapshot.time_s - snapshot.marks[-1].time_s < NEWS_S:
        return f"{lane.info.title}: {snapshot.marks[-1].what}"
    return ""
