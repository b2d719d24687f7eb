"""The small line that asks for a time to go to."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from kvtui.tui.prompt import prompt
from kvtui.tui.view.formats import seconds_of

_ASK = "Go to (mm:ss or seconds):"
_AGAIN = "A time is 1:14, 74 or 74.5:"


class GoTo(ModalScreen[float | None]):
    """Gives the time in seconds, None if it was left."""

    BINDINGS: ClassVar = [Binding("escape", "leave", show=False)]

    def compose(self) -> ComposeResult:
        yield prompt(_ASK, enter="go there")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        time_s = seconds_of(event.value)
        if time_s is not None or not event.value.strip():
            self.dismiss(time_s)
        else:
            self.query_one("#question", Label).update(_AGAIN)

    def action_leave(self) -> None:
        self.dismiss(None)
