"""Changing who stands on the stage while a run goes on: lanes come, go, branch off, become the baseline."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from kvtui.comparison.branching import branch
from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec, named
from kvtui.comparison.player import History, Player
from kvtui.errors import ConfigError, KvtuiError
from kvtui.frames.blank import blank
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.memory.contiguous import RESERVE
from kvtui.tui.selection import Selection
from kvtui.tui.show import Films, Show, Simulation, filming_of
from kvtui.units import seconds

MOST: Final = 4  # lanes


class Troupe:
    """The lanes of a player with their histories, in the order in which they stand."""

    def __init__(self, player: Player, experiment: Experiment) -> None:
        self.lanes: list[Any] = [*player.lanes]
        self.histories: list[Any] = [*player.histories]
        self.experiment = experiment

    def add(self, spec: LaneSpec) -> Lane:
        """A lane from the start of the trace; it has yet to come up to the others.

        Raises:
            ConfigError: there is no room for one more, or the lane makes no sense.
        """
        self._join(spec)
        (lane,) = replace(self.experiment, lanes=self.experiment.lanes[-1:]).build()
        self._stand(lane)
        return lane

    def branch(self, at: int, spec: LaneSpec, now_ps: int) -> Lane:
        """A lane that is like lane `at` until now and goes its own way from here.

        Raises:
            ConfigError: there is no room for one more, or the lane makes no sense.
        """
        self._join(spec)
        copy = self.histories[at].at_time(now_ps)
        lane = branch(copy, self.experiment, self.experiment.lanes[-1])
        lane.info = replace(lane.info, since_s=seconds(now_ps))
        self._stand(lane)
        return lane

    def remove(self, at: int) -> None:
        """One lane less.

        Raises:
            ConfigError: it is the last one.
        """
        if len(self.lanes) < 2:
            raise ConfigError("The last lane cannot be removed.")
        self._order([other for other in range(len(self.lanes)) if other != at])

    def lead(self, at: int) -> None:
        """Make a lane the first: the one that others are compared with."""
        self._order([at, *(other for other in range(len(self.lanes)) if other != at)])

    def _join(self, spec: LaneSpec) -> None:
        if len(self.lanes) >= MOST:
            raise ConfigError(f"More than {MOST} lanes do not fit side by side; remove one first.")
        bare = [other._replace(name="") for other in (*self.experiment.lanes, spec)]
        name = named(tuple(bare))[-1].name
        taken = {other.name for other in self.experiment.lanes}
        mine = spec._replace(name=next(each for each in _numbered(name) if each not in taken))
        self.experiment = replace(
            self.experiment, max_len=self.experiment.length_limit, lanes=(*self.experiment.lanes, mine)
        )

    def _stand(self, lane: Lane) -> None:
        self.lanes.append(lane)
        self.histories.append(Checkpoints(lane))

    def _order(self, order: Sequence[int]) -> None:
        self.lanes = [self.lanes[at] for at in order]
        self.histories = [self.histories[at] for at in order]
        self.experiment = replace(
            self.experiment,
            max_len=self.experiment.length_limit,
            lanes=tuple(self.experiment.lanes[at] for at in order),
        )


def kept_name(spec: LaneSpec, before: Experiment) -> str:
    """The name of a lane that was not changed; a changed one is named anew."""
    return spec.name if spec in before.lanes else ""


def manager_after(spec: LaneSpec, others: Sequence[LaneSpec]) -> LaneSpec:
    """The next manager or reserve rule that none of the other lanes has; the next of all if they have all."""
    taken, after = {_managed(other) for other in others}, _turned(spec)
    for _ in RESERVE:
        if _managed(after) not in taken:
            return after
        after = _turned(after)
    return _turned(spec)


def _managed(spec: LaneSpec) -> tuple[object, ...]:
    """What makes two lanes the same for whoever looks for another manager."""
    if spec.manager == "paged":
        return spec.manager, spec.block_size, spec.prefix_cache
    return spec.manager, spec.reserve


def _turned(spec: LaneSpec) -> LaneSpec:
    """Contiguous with each reserve rule in turn, then paged, then round again."""
    if spec.manager == "paged":
        return spec._replace(manager="contiguous", reserve=RESERVE[0])
    at = RESERVE.index(spec.reserve) + 1
    return spec._replace(reserve=RESERVE[at]) if at < len(RESERVE) else spec._replace(manager="paged")


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{number}" for number in range(2, MOST + 2))


class Lineup:
    """The part of a stage that changes who stands on it."""

    player: Player
    lanes: tuple[LaneInfo, ...]
    focus: int | None
    selection: Selection
    filming: Films | None
    _show: Show
    _known_end: float | None

    @property
    def experiment(self) -> Experiment:
        raise NotImplementedError

    @property
    def recorded(self) -> bool:
        raise NotImplementedError

    def keep_up(self) -> None:
        """Bring all lanes to one moment: to now, where time goes on by itself."""
        now_ps, clock = self._show.edge_ps, self.player.clock
        if now_ps is not None and not clock.paused:
            clock.now_ps = now_ps
        self.player.level()
        if now_ps is not None:
            if clock.paused and self.player.lagging:
                self.player.pause()  # which wakes lanes that have come to know more
            lanes: Sequence[Any] = self.player.lanes
            self.lanes = tuple(lane.info for lane in lanes)  # a server may have another memory by now

    @property
    def target(self) -> int:
        raise NotImplementedError

    def enter(self, lanes: Sequence[Any], infos: tuple[LaneInfo, ...], histories: Sequence[History]) -> None:
        raise NotImplementedError

    def picture(self, lane: int) -> Frame:
        """The lane now; blank before it has branched off."""
        info = self.lanes[lane]
        return blank(info) if self.player.clock.now_s < info.since_s else self.player.frame(lane)

    def add_lane(self, spec: LaneSpec) -> str:
        """One more lane, from the start of the trace; gives the sentence that says so."""
        return self._recast(lambda troupe: troupe.add(spec), "{0} joins: it has to catch up first.")

    def branch(self, spec: LaneSpec) -> str:
        """What if the chosen lane had this setting from here on: one more lane; gives the sentence."""
        now = self.player.clock.now_ps
        words = "{0} branches off here: a server started anew with {1}."
        return self._recast(lambda troupe: troupe.branch(self.target, spec, now), words)

    def remove_lane(self) -> str:
        """The chosen lane goes; gives the sentence that says so."""
        title = self.lanes[self.target].title
        return self._recast(lambda troupe: troupe.remove(self.target), f"{title} is gone.")

    def make_baseline(self) -> str:
        """The others are compared with the chosen lane; gives the sentence that says so."""
        title = self.lanes[self.target].title
        words = f"{title} is the baseline now."
        return self._recast(lambda troupe: troupe.lead(self.target), words, chosen=0)

    def _recast(
        self, change: Callable[[Troupe], Lane | None], words: str, *, chosen: int | None = None
    ) -> str:
        """Change the lanes; then the new one is chosen, or `chosen` where none is new."""
        if self.recorded:
            return self._show.fixed
        if any(spec.measured for spec in self.experiment.lanes):
            return "Lanes on a device stay as they are while they run."
        troupe, reached = Troupe(self.player, self.experiment), self.player.furthest_ps
        try:
            new = change(troupe)
        except KvtuiError as error:
            return error.message
        self.selection.close()
        self._show = Simulation(troupe.experiment, filming_of(self.filming))
        infos = tuple(lane.info for lane in troupe.lanes)
        self.enter(troupe.lanes, infos, troupe.histories)
        self.player.note_reached(reached)
        self.focus = len(infos) - 1 if new is not None else chosen
        if new is not None:
            self._show.watch(self.focus or 0, new)
        self._known_end = None
        return words if new is None else words.format(new.info.title, new.info.subtitle)
