"""The part of the main screen that adds, removes and branches lanes and chooses the baseline."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Label

from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import KvtuiError
from kvtui.tui.prompt import prompt
from kvtui.tui.stage import Stage
from kvtui.tui.view.useless import useless

_ADD = "Add a lane (paged:32, contiguous:pow2, ...):"
_BRANCH = "Fork {} here, with empty memory, as:"
_WHICH = "Which lane gets another manager? Choose it first, then m again: {}."


class LaneKeys(Screen[None], inherit_bindings=False):
    """Needs a stage, and what the main screen does after a change of lanes."""

    stage: Stage

    def begin(self, words: str) -> None:
        """Other lanes are to be played and seen."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        raise NotImplementedError

    def action_next_block(self, by: int) -> None:
        """Another block of the request that is inspected."""
        raise NotImplementedError

    @property
    def useless(self) -> frozenset[str]:
        """Actions that can do nothing with what is shown."""
        return useless(self.stage.lanes, fixed=self.stage.recorded, live=self.stage.live)

    def action_manager(self) -> None:
        """The run starts again with it, so no lane is changed that was not chosen."""
        stage = self.stage
        if stage.recorded:
            self.say(stage.next_manager())  # which says that nothing can be changed
        elif stage.focus is None and len(stage.lanes) > 1:
            lanes = (f"{at} {lane.title}" for at, lane in enumerate(stage.lanes, start=1))
            self.say(_WHICH.format(", ".join(lanes)))
        else:
            self.begin(stage.next_manager())

    def action_block_size(self) -> None:
        if self.stage.selection.choice is not None:
            self.action_next_block(1)
        elif self.stage.blocks:
            self.begin(self.stage.next_block_size())
        else:
            self.say(self.stage.next_block_size())

    def action_add_lane(self) -> None:
        self._ask(_ADD, "paged:", self.stage.add_lane)

    def action_branch(self) -> None:
        title = self.stage.lanes[self.stage.target].title
        self._ask(_BRANCH.format(title), "paged:block_size=128", self.stage.branch)

    def action_remove_lane(self) -> None:
        self.begin(self.stage.remove_lane())

    def action_make_baseline(self) -> None:
        self.begin(self.stage.make_baseline())

    def _ask(self, question: str, start: str, change: Callable[[LaneSpec], str]) -> None:
        if self.stage.recorded:
            self.say(change(LaneSpec("paged")))  # which says that nothing can be changed
            return
        self.app.push_screen(AskLane(question, start), lambda spec: self._answered(spec, change))

    def _answered(self, spec: LaneSpec | None, change: Callable[[LaneSpec], str]) -> None:
        if spec is not None:
            self.begin(change(spec))


class AskLane(ModalScreen[LaneSpec | None]):
    """Gives the lane that was typed, None if it was left."""

    BINDINGS: ClassVar = [Binding("escape", "leave", show=False)]

    def __init__(self, question: str, start: str) -> None:
        super().__init__()
        self._question = question
        self._start = start

    def compose(self) -> ComposeResult:
        yield prompt(self._question, enter="add it", start=self._start)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        try:
            spec = LaneSpec.parse(event.value.strip())
        except KvtuiError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.query_one("#question", Label).update(f"{error.message}{hint}:")
        else:
            self.dismiss(spec)

    def action_leave(self) -> None:
        self.dismiss(None)
