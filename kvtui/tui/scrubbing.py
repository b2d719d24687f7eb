"""The part of the main screen that goes through time: to events of a kind, and along the timeline with the
mouse."""

from __future__ import annotations

from typing import Final

from textual.events import MouseDown, MouseMove, MouseUp
from textual.screen import Screen

from kvtui.frames.frame import EventKind
from kvtui.tui.board import Board
from kvtui.tui.stage import Stage
from kvtui.tui.travel import MARKED
from kvtui.tui.view.timeline import time_at

WORDS: Final = {  # what is said where there is none
    MARKED: "is preempted or rejected, nor a block of use to others evicted,",
    (EventKind.PREEMPTED,): "is preempted",
    (EventKind.REJECTED,): "is rejected",
    (EventKind.EVICTED,): "that others could have used is evicted",
    (EventKind.COPIED,): "is copied on write",
    (EventKind.QUEUE,): "starts to wait",
}


class Scrubbing(Screen[None], inherit_bindings=False):
    """Needs a stage, a board, and what the main screen does to show another moment."""

    stage: Stage
    board: Board
    _dragged: int | None = None  # column that the mouse is at, while it is held down on the timeline
    _due = False  # whether a look at it is under way

    def moved(self) -> None:
        """Another moment is to be seen."""
        raise NotImplementedError

    def play(self) -> None:
        """Let the loops run again."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        raise NotImplementedError

    def hush(self) -> None:
        """What was said is said no longer."""
        raise NotImplementedError

    # ---- to events

    def action_next_event(self, *kinds: str) -> None:
        self.stop_looking()
        wanted = _kinds(kinds)
        if self.stage.live:
            self.say("What a real server will do nobody knows.")
        elif self.stage.next_event(wanted):
            self.moved()
        elif self.stage.at_end:
            self.moved()
            self.say(_none(wanted))
        else:
            self.stage.searching = True
            self.moved()
            self.run_worker(self._look_for(wanted), group="looking", exclusive=True, exit_on_error=False)

    def action_previous_event(self, *kinds: str) -> None:
        self.stop_looking()
        wanted = _kinds(kinds)
        found = self.stage.previous_event(wanted)
        self.moved()
        if not found:
            self.say(f"Nothing {_was(WORDS[wanted])} before.{self._of_no_use(wanted)}")

    def _of_no_use(self, kinds: tuple[EventKind, ...]) -> str:
        """Of the evicted blocks those are no events that held what nobody else asks for: says how many."""
        counters = [frame.counters for frame in self.stage.scene().frames]
        count = sum((c.evictions or 0) - (c.reusable_evictions or 0) for c in counters)
        if EventKind.EVICTED not in kinds or not count:
            return ""
        return f" {count:,} blocks were evicted that nobody else could have used."

    async def _look_for(self, kinds: tuple[EventKind, ...]) -> None:
        """Run on, in sight, until something of that kind happens; back to here if nothing does."""
        after_ps = self.stage.player.clock.now_ps
        while not self.stage.next_event(kinds, after_ps=after_ps):
            if self.stage.player.ended:
                self.stage.searching = False
                self.stage.player.seek(after_ps)
                self.moved()
                self.say(_none(kinds))
                return
            await self.stage.look_further()
        self.stage.searching = False
        self.moved()

    def stop_looking(self) -> None:
        """It stands where the search has come to."""
        self.stage.searching = False
        self.hush()
        self.workers.cancel_group(self, "looking")

    # ---- along the timeline

    def on_mouse_down(self, event: MouseDown) -> None:
        plan = self.board.plan
        if plan is not None and event.screen_y == plan.timeline.y:
            self._dragged = event.screen_x

    def on_mouse_move(self, event: MouseMove) -> None:
        if self._dragged is not None and event.button and event.screen_x != self._dragged:
            self._dragged = event.screen_x
            if not self._due:  # one look for all moves that come while it is made
                self._due = True
                self.call_later(self._drag)

    def on_mouse_up(self, event: MouseUp) -> None:
        self._dragged = None

    def _drag(self) -> None:
        self._due = False
        plan = self.board.plan
        if self._dragged is None or plan is None:
            return
        scene = self.stage.scene()
        time_s = time_at(scene, self._dragged, width=plan.width, margin=plan.margin)
        if time_s is not None:
            self.stop_looking()
            self.stage.go_to(min(time_s, scene.reached_s))
            self.moved()


def _kinds(names: tuple[str, ...]) -> tuple[EventKind, ...]:
    return tuple(EventKind(name) for name in names) or MARKED


def _none(kinds: tuple[EventKind, ...]) -> str:
    return f"Nothing {WORDS[kinds]} in the rest of the run."


def _was(words: str) -> str:
    return words.replace("is ", "was ", 1).replace("starts to wait", "waited")
