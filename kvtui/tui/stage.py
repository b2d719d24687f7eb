"""What is being shown: an experiment or a recording, the player that runs it, the scene of this moment."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec, named
from kvtui.comparison.player import ROWS, Clock, History, Player
from kvtui.errors import KvtuiError
from kvtui.frames.chronicle import Chronicle
from kvtui.frames.counts import LaneInfo
from kvtui.serving.measured import DeviceState
from kvtui.tui.lineup import Lineup, kept_name, manager_after
from kvtui.tui.selection import ROWS as ALL_ROWS
from kvtui.tui.selection import Selection
from kvtui.tui.show import Films, Playable, Show, Simulation, filming_of
from kvtui.tui.showing import show_of
from kvtui.tui.travel import Travel
from kvtui.tui.view import formats
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.timeline import Marks
from kvtui.tui.view.words import ENGLISH
from kvtui.units import seconds

if TYPE_CHECKING:
    from kvtui.exports import Exhibit
    from kvtui.recording.filming import Filming

NOTHING_TOLD: Final = Chronicle()  # of a lane that keeps no chronicle
SPEEDS: Final = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, math.inf)
BLOCK_SIZES: Final = (8, 16, 32, 64, 128)
NEAR: Final = 0.9  # the part of a speed that has to be reached for it to count as reached


class Stage(Lineup, Travel):
    """Builds the lanes, and anew when something is changed; a scene is all that the screen sees of it."""

    def __init__(self, what: Playable, *, speed: float, filming: Films | None = None) -> None:
        self.filming = filming
        self._show: Show = show_of(what, filming)
        self.focus: int | None = None
        self.selection = Selection()
        self._cut = ""  # what is said of a recording that a change has ended
        self.notice = ""  # a sentence to be told
        self.language = ENGLISH  # of what the screen says
        self._held = self._wrong = False
        self.searching = False  # whether it runs on for something that is looked for
        self._clock = Clock(speed=speed)
        self._left_s = 0.0  # where a run was cut short
        self._known_end: float | None = None  # of a run with these very settings
        self._start()

    def _start(self) -> None:
        cast = self._show.cast()
        self.selection.close()
        self._clock = Clock(speed=self._clock.speed)
        self.enter(cast.lanes, cast.infos, cast.histories, cast.reached_ps)

    def enter(
        self,
        lanes: Sequence[Any],
        infos: tuple[LaneInfo, ...],
        histories: Sequence[History],
        reached_ps: int = 0,
    ) -> None:
        """These lanes are played from now on, by the same clock."""
        self.lanes = infos
        self.player = Player(
            lanes, clock=self._clock, histories=histories, watch=self._show.watch, reached_ps=reached_ps
        )
        self._marks = Marks(len(infos))
        self._verdict = ""

    @property
    def experiment(self) -> Experiment:
        """What is simulated; only where something is."""
        assert self._show.experiment is not None, "a recording is played"
        return self._show.experiment

    @property
    def recorded(self) -> bool:
        """Whether a recording or a server is shown, in which nothing can be changed."""
        return self._show.experiment is None

    @property
    def live(self) -> bool:
        """Whether real servers are watched now: time goes on by itself, and has no start to go back to."""
        return self._show.edge_ps is not None

    @property
    def published(self) -> bool:
        """Whether what real servers published is shown, now or from a recording."""
        return self.lanes[0].label == "live"

    @property
    def measured(self) -> bool:
        """Whether a device carries steps out."""
        return self._show.experiment is not None and self._show.experiment.backend is not None

    def _device(self) -> DeviceState | None:
        """The device now; tells once if something was read wrong there."""
        experiment = self._show.experiment
        if experiment is None or experiment.backend is None:
            return None
        state = experiment.backend.state()
        if state.failed and not self._wrong:
            self.notice = (
                "A request has read something that is not its own: a bug of kvtui, see panel device."
            )
        self._wrong = bool(state.failed)
        return state

    def close(self) -> None:
        """The end: give back what is held of a device."""
        self._show.close()

    def stop_filming(self) -> None:
        """Close the recording that is being made."""
        filming = filming_of(self.filming)
        if filming is not None and filming.on:
            _finish(filming, self._show, self.player.lanes)

    def _filmed(self) -> bool:
        """Whether a recording is being made; tells once if it cannot go on."""
        if self.filming is None:
            return False
        if self.filming.problem is not None:
            self.notice, self.filming = f"The recording ends here: {self.filming.problem}.", None
            return False
        return self.filming.on

    # ---- what is seen

    @property
    def run(self) -> Run:
        if self.player.ended:
            return Run.ENDED
        if self.searching:
            return Run.SEARCHING
        return Run.PAUSED if self._clock.paused else Run.RUNNING

    def scene(self) -> Scene:
        """This moment, in all lanes."""
        self.keep_up()
        self.player.show_rows(ALL_ROWS if self.selection.all_rows else ROWS)
        frames = tuple(self.picture(lane) for lane in range(len(self.lanes)))
        for lane, frame in enumerate(frames):
            if not self.chronicle(lane).events.total:
                self._marks.add(lane, frame)
            else:
                self._marks.read(lane, self.chronicle(lane))
        time_s = seconds(self._clock.now_ps) if self.live else self.player.time_s
        if self.run is Run.ENDED:
            self._known_end = time_s
            self._verdict = self._verdict or self._judged()
            self.stop_filming()
        return Scene(
            heading=self._show.heading,
            filming=self._filmed(),
            lanes=self.lanes,
            frames=frames,
            time_s=time_s,
            run=self.run,
            speed=self.speed_text(),
            focus=self.focus,
            end_s=self._known_end,
            marks=self._marks.all(),
            failures=tuple(None if error is None else _words(error) for error in self.player.failures),
            verdict=self._verdict,
            device=self._device(),
            reached_s=seconds(self.player.furthest_ps),
            listing=self.selection.listing,
            inspected=self.selection.inspected(self.lanes, self._chronicles, frames),
            snapshots=self._show.snapshots(self.player.lanes),
            told=self._show.told(self.player.lanes),
            language=self.language,
        )

    def _judged(self) -> str:
        """What the whole run says: the very sentence that a headless run prints."""
        for info, error in zip(self.lanes, self.player.failures, strict=True):
            if error is not None:
                return f"{info.title} stopped before its end: {_words(error)}."
        return str(self._show.report(self.player.lanes)["verdict"])

    def speed_text(self) -> str:
        """The speed reached; beside it the one asked for, where that is not reached."""
        if self.live:
            return "live"
        wanted, reached = self._clock.speed, self.player.reached()
        if self._clock.unlimited:
            return f"{formats.speed(reached)} max" if reached is not None else "max"
        if reached is None or reached >= NEAR * wanted:
            return formats.speed(wanted)
        return f"{formats.speed(reached)} of {formats.speed(wanted)}"

    def exhibit(self, picture: str = "") -> Exhibit:
        """This moment and what led to it, for an export."""
        from kvtui.exports import Exhibit, LaneExhibit

        scene = self.scene()
        return Exhibit(
            heading=scene.heading,
            time_s=scene.time_s,
            report=self._show.report(self.player.lanes),
            lanes=tuple(
                LaneExhibit(info, frame, self.chronicle(lane))
                for lane, (info, frame) in enumerate(zip(scene.lanes, scene.frames, strict=True))
            ),
            picture=picture,
        )

    # ---- what the keys do

    def toggle_pause(self) -> None:
        self.player.pause(not self._clock.paused)

    def hold(self, held: bool) -> None:
        """Let the run stand still while it cannot be seen, and go on after."""
        if held:
            self._held = not self._clock.paused
        if self._held:
            self.player.pause(held)
        self._held = self._held and held

    def change_speed(self, by: int) -> None:
        """`by` places along `SPEEDS`."""
        at = min(range(len(SPEEDS)), key=lambda at: _apart(SPEEDS[at], self._clock.speed))
        self.player.set_speed(SPEEDS[max(0, min(len(SPEEDS) - 1, at + by))])

    def restart(self) -> str:
        """The same run once more; gives the sentence that says so."""
        if self.live:
            return self._show.fixed
        back = self._way_back("")
        self._start()
        return f"The run starts again with the same requests{self._seed()}{back}"

    def next_manager(self) -> str:
        """Another manager or reserve rule for the chosen lane; gives the sentence that says so."""
        if self.recorded:
            return self._show.fixed
        lanes = self.experiment.lanes
        others = [spec for at, spec in enumerate(lanes) if at != self.target]
        return self._change(manager_after(lanes[self.target], others))

    def next_block_size(self) -> str:
        """Another block size for the chosen lane; gives the sentence that says so."""
        if self.recorded:
            return self._show.fixed
        spec = self.experiment.lanes[self.target]
        if spec.memory != "paged":
            return f"{self.lanes[self.target].title} has no blocks to size; choose a paged lane first."
        sizes = [size for size in BLOCK_SIZES if size > spec.block_size] or BLOCK_SIZES[:1]
        return self._change(spec._replace(block_size=sizes[0]))

    @property
    def blocks(self) -> bool:
        """Whether the chosen lane has a block size."""
        return not self.recorded and self.experiment.lanes[self.target].memory == "paged"

    def chronicle(self, lane: int) -> Chronicle:
        """Everything that happened in a lane; nothing of a lane that does not tell."""
        told: Chronicle = getattr(self.player.lanes[lane], "chronicle", None) or NOTHING_TOLD
        return told

    @property
    def _chronicles(self) -> list[Chronicle]:
        return [self.chronicle(lane) for lane in range(len(self.lanes))]

    @property
    def target(self) -> int:
        """The lane that keys act on: the chosen one, else the compared one."""
        return len(self.lanes) - 1 if self.focus is None else self.focus

    def _change(self, spec: LaneSpec) -> str:
        lane = self.focus = self.target
        back = self._way_back("o changes it back, ")
        error = self._rerun(lambda: _with_lane(self.experiment, lane, spec))
        if error:
            return error
        info = self.lanes[lane]
        return f"{info.title} now: {info.subtitle}. The run starts again{self._seed()}{back}{self._cut}"

    def run_with(self, experiment: Experiment) -> str:
        """The run once more with other settings; gives the sentence that says so."""
        lanes = tuple(spec._replace(name=kept_name(spec, self.experiment)) for spec in experiment.lanes)
        back = self._way_back("o changes them back, ")
        error = self._rerun(lambda: replace(experiment, lanes=lanes))
        return error or f"The run starts again with other settings{self._seed()}{back}{self._cut}"

    def _rerun(self, make: Callable[[], Experiment]) -> str:
        """Run another experiment; gives what is wrong with it, and then everything starts as it was."""
        before, running = self._show, self.player
        filmed = self.filming is not None and self.filming.on
        self._cut = ""
        try:
            self._show = Simulation(make())
            before.close()
            self._start()
        except KvtuiError as error:
            self._show = before
            self._start()
            return error.message
        filming = filming_of(self.filming) if filmed else None
        if filming is not None:
            _finish(filming, before, running.lanes)
            self._cut = " The recording ends before this change."
        self._known_end = None
        return ""

    def _way_back(self, change: str) -> str:
        """How to come back, `change` and all, to the moment at which a run is cut short; the furthest of
        them where one follows on the other."""
        self._left_s = 0.0 if self.player.ended else max(self._left_s, self.player.time_s)
        if not self._left_s:
            return ""
        return f" It was at {formats.clock(self._left_s)}: {change}: goes there."

    def _seed(self) -> str:
        seed = self._show.heading.seed
        return "." if seed is None else f", seed {seed}."


def _finish(filming: Filming, show: Show, lanes: Sequence[Any]) -> None:
    """With a report only of where the recording ends, never of an earlier moment that is looked at."""
    filming.finish(show.report(lanes) if filming.reached_by(lanes) else None)


def _with_lane(experiment: Experiment, lane: int, spec: LaneSpec) -> Experiment:
    """The same experiment with one lane changed; names that nobody gave are given anew, as what they tell
    apart has changed."""
    bare = tuple(each._replace(name="") for each in experiment.lanes)
    lanes = [
        plain if plain_named.name == each.name else each
        for each, plain, plain_named in zip(experiment.lanes, bare, named(bare), strict=True)
    ]
    lanes[lane] = spec._replace(name="")
    return replace(experiment, lanes=tuple(lanes))


def _apart(a: float, b: float) -> float:
    return 0.0 if a == b else abs(math.log(a) - math.log(b)) if math.isfinite(a + b) else math.inf


def _words(error: Exception) -> str:
    if isinstance(error, KvtuiError):
        return error.message
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
