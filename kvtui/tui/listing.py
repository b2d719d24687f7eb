"""The part of the main screen that filters the queues and turns their pages."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import MouseScrollDown, MouseScrollUp
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Label

from kvtui.tui.board import Board
from kvtui.tui.prompt import prompt
from kvtui.tui.stage import Stage
from kvtui.tui.view.listing import Listing, problem

QUEUES: Final = ("waiting", "running", "queues")
_ASK: Final = "Show only (12, 10-19, wait, preempt, run, prompt, answer):"
_WHEEL: Final = 3  # rows


class Listed(Screen[None], inherit_bindings=False):
    """Needs a stage, a board, and what the main screen does to show another panel."""

    stage: Stage
    board: Board

    def paint(self) -> None:
        raise NotImplementedError

    def open_panel(self, name: str) -> None:
        """Let a panel be seen if the terminal has a place for it."""
        raise NotImplementedError

    def action_filter(self) -> None:
        self.app.push_screen(AskFilter(self.stage.selection.listing.text), self._filtered)

    def _filtered(self, text: str | None) -> None:
        if text is None:
            return
        self.stage.selection.listing = Listing(text)
        if text and not any(self.board.panels[name].display for name in QUEUES):
            self.open_panel("running" if {*text.split()} & {"running", "prompt", "answer"} else "waiting")
        self.paint()

    def action_page(self, by: int) -> None:
        """The next page of the queues in sight, or the one before."""
        self._scroll(by, pages=True)

    def _scroll(self, by: int, *, pages: bool = False) -> None:
        selection = self.stage.selection
        for name in QUEUES:
            widget = self.board.panels[name]
            if widget.display:
                room = widget.size.height - 1 if name != "queues" else widget.size.height // 2
                step = by * max(1, room - 1) if pages else by
                selection.listing = selection.listing.scrolled(step, self._counts(name), room)
        self.paint()

    def _counts(self, name: str) -> list[int]:
        """How many rows the lists of a panel have."""
        listing, counts = self.stage.selection.listing, []
        for frame in self.stage.scene().frames:
            if name != "waiting":
                every = frame.counters.running or 0
                counts.append(len(listing.matching(frame.running)) if listing.text else every)
            if name != "running":
                every = frame.counters.waiting or 0
                counts.append(len(listing.matching(frame.waiting)) if listing.text else every)
        return counts

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._wheel(event.screen_x, event.screen_y, _WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._wheel(event.screen_x, event.screen_y, -_WHEEL)

    def _wheel(self, x: int, y: int, by: int) -> None:
        widgets = (self.board.panels[name] for name in QUEUES)
        if any(widget.display and widget.region.contains(x, y) for widget in widgets):
            self._scroll(by)


class AskFilter(ModalScreen[str | None]):
    """Gives the filter that was typed, None if it was left."""

    BINDINGS: ClassVar = [Binding("escape", "leave", show=False)]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        yield prompt(_ASK, enter="show them", start=self._text, chosen=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        wrong = problem(event.value)
        if wrong is None:
            self.dismiss(event.value.strip())
        else:
            self.query_one("#question", Label).update(f"{wrong}:")

    def action_leave(self) -> None:
        self.dismiss(None)
