"""Real servers on the stage: they go on whether somebody looks or not, and nothing of them can be changed.
Beside them there may be lanes that are simulated with the requests they get."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import Heading
from kvtui.live.report import stale, summary
from kvtui.live.session import LiveLane, Memory, Session
from kvtui.live.watch import Snapshot
from kvtui.live.whatif.beside import WhatIf
from kvtui.tui.show import Cast

NEWS_S: Final = 6.0  # for which something that happened to a server is told
SLOTS: Final = "Each slot is drawn where it is: stored, held empty, kept for reuse."
CONTENT: Final = "The grid shows cached content at cells given here; what is in use is the bar's."
MISSING: Final = "KV events are missing: the map of cached content is not whole."
USAGE: Final = "Servers do not publish where blocks lie: use is drawn from the first cell on."
NOTHING: Final = "{title} does not tell how full its KV memory is."


class LiveShow:
    """What is seen of servers since the screen opened; pausing freezes the view, not the watching."""

    experiment: Experiment | None = None

    def __init__(
        self, session: Session, heading: Heading, *, contents: bool = False, beside: WhatIf | None = None
    ) -> None:
        self.heading = heading
        self._session = session
        self._contents = contents
        self._beside = beside

    @property
    def fixed(self) -> str:
        if self._beside is not None:
            return "Servers are only watched here; lanes beside them are chosen with --lane."
        return "Servers are only watched here: nothing of them can be changed."

    @property
    def edge_ps(self) -> int | None:
        """Now."""
        return self._session.now_ps

    def cast(self) -> Cast:
        tapes, beside = self._session.tapes, self._beside
        simulated = beside.lanes if beside is not None else []
        lanes: list[Any] = [*(LiveLane(tape, tape.newest) for tape in tapes), *simulated]
        pasts: list[Any] = [*map(Memory, tapes), *(beside.histories if beside is not None else [])]
        return Cast(tuple(lane.info for lane in lanes), lanes, pasts)

    def close(self) -> None:
        """Whoever opened the session closes it."""

    def report(self, lanes: Sequence[Any]) -> dict[str, Any]:
        return summary(self.snapshots(lanes))

    def watch(self, at: int, lane: Any) -> None:
        """The session has told already."""

    def snapshots(self, lanes: Sequence[Any]) -> tuple[Snapshot, ...]:
        servers, simulated = self._parted(lanes)
        published = tuple(lane.seen.snapshot for lane in servers)
        if self._beside is None:
            return published
        return (*published, *self._beside.snapshots(simulated, max(lane.now_ps for lane in servers)))

    def _parted(self, lanes: Sequence[Any]) -> tuple[Sequence[LiveLane], Sequence[Any]]:
        """Servers, and what is simulated beside them."""
        servers = len(self._session.tapes)
        return lanes[:servers], lanes[servers:]

    def told(self, lanes: Sequence[Any]) -> tuple[str, ...]:
        """What is the matter with a server; else how its memory is drawn, and what else there is to know."""
        servers, _ = self._parted(lanes)
        news = [text for lane in servers if (text := _news(lane))]
        usual = [text for lane in servers for text in (self._drawn(lane), *lane.seen.snapshot.notes)]
        behind_s = max(snapshot.behind_s for snapshot in self.snapshots(lanes))
        beside = self._beside.told(behind_s) if self._beside is not None else ()
        return tuple(dict.fromkeys([*news, *beside, *usual]))

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
