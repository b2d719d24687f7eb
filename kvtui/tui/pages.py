"""Full-screen pages over the main screen: help and summary. The run stands still while one is open."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.events import Click, Resize
from textual.screen import Screen
from textual.scrollbar import ScrollBarRender

from kvtui.tui.looking import MESSAGE_S
from kvtui.tui.mainscreen import MainScreen
from kvtui.tui.rows import Rows
from kvtui.tui.view.canvas import Line, cut
from kvtui.tui.view.footer import Spot, footer_line
from kvtui.tui.view.header import header_line
from kvtui.tui.view.helppage import help_lines
from kvtui.tui.view.ink import WARN
from kvtui.tui.view.keys import HELP_HINTS, SUMMARY_HINTS, Hint
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Scene
from kvtui.tui.view.summary import summary_lines


class PlainBar(ScrollBarRender):
    """A scrollbar whose ends are whole cells: the parts of cells are not of ASCII."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "] * 8


class Page(Screen[None]):
    """Header and footer of the main screen, and between them text that scrolls where it is too long."""

    BINDINGS: ClassVar = [Binding("escape", "back", show=False)]
    HINTS: ClassVar[tuple[Hint, ...]] = ()

    def __init__(self, main: MainScreen) -> None:
        super().__init__()
        self._main = main
        look = main.board.look
        self._header = Rows(look, id="page-header")
        self._text = Rows(look, id="page-text")
        self._footer = Rows(look, id="page-footer")
        self._spots: list[Spot] = []

    def text(self, scene: Scene, look: Look, width: int) -> tuple[Line, ...]:
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        yield self._header
        with VerticalScroll(id="page"):
            yield self._text
        yield self._footer

    def on_mount(self) -> None:
        page = self.query_one("#page")
        if self._text.look.ascii:
            page.vertical_scrollbar.renderer = PlainBar  # type: ignore[misc]
        page.focus()

    def on_resize(self, event: Resize) -> None:
        self._show()

    def hints(self) -> list[Hint]:
        """The keys of the footer."""
        return list(self.HINTS)

    def _show(self) -> None:
        width = self.app.size.width
        scene = self._main.stage.scene()
        lines = self.text(scene, self._header.look, width)
        self._text.styles.height = len(lines)
        self._text.show(lines)
        self._header.show([header_line(scene, width=width, margin=_margin(width))])
        self._show_keys()

    def _show_keys(self) -> None:
        width = self.app.size.width
        line, self._spots = footer_line(
            self.hints(), width=width, margin=_margin(width), language=self._header.look.language
        )
        self._footer.show([line])

    def say(self, text: str) -> None:
        """Tell something for a few seconds in place of the keys."""
        width = self.app.size.width
        margin = _margin(width)
        self._footer.show([((" " * margin + cut(text, width - 2 * margin), WARN),)])
        self.set_timer(MESSAGE_S, self._show_keys)

    def set_look(self, look: Look) -> None:
        for rows in (self._header, self._text, self._footer):
            rows.set_look(look)
        self._show()

    def on_click(self, event: Click) -> None:
        if event.screen_y == self.size.height - 1:
            for start, end, action in self._spots:
                if start <= event.screen_x < end:
                    self.call_later(self.run_action, action)

    def action_back(self) -> None:
        self.dismiss()


class HelpPage(Page):
    """Every key and every shape."""

    BINDINGS: ClassVar = [Binding("question_mark", "back", show=False)]
    HINTS = HELP_HINTS

    def text(self, scene: Scene, look: Look, width: int) -> tuple[Line, ...]:
        scale = self._main.board.scale
        assert scale is not None
        return help_lines(scene, scale, look, width=width, useless=self._main.useless)


class SummaryPage(Page):
    """The lanes side by side."""

    BINDINGS: ClassVar = [Binding("S", "back", show=False), Binding("r", "restart", show=False)]
    HINTS = SUMMARY_HINTS

    def text(self, scene: Scene, look: Look, width: int) -> tuple[Line, ...]:
        return summary_lines(scene, look, width=width)

    def action_restart(self) -> None:
        self.dismiss()
        self._main.call_later(self._main.action_restart)


def _margin(width: int) -> int:
    return 2 if width > 80 else 1
