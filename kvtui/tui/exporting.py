"""The small line that asks for a file to export to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from kvtui.errors import KvtuiError
from kvtui.exports import WRITERS, Exhibit, export
from kvtui.tui.prompt import prompt
from kvtui.tui.view import formats

_ASK = "Export to:"
_ENDS = " ".join(suffix.removeprefix(".") for suffix in reversed(WRITERS))
_WRITING = "Writing it ..."
_SEEN_S = 0.05  # until that is on the screen, which stands still while it is done
_THERE = "It exists; enter again replaces it:"


class ExportTo(ModalScreen[str | None]):
    """Writes the file and gives the sentence that says so, None if it was left."""

    BINDINGS: ClassVar = [Binding("escape", "leave", show=False)]

    def __init__(self, exhibit: Exhibit) -> None:
        super().__init__()
        self._exhibit = exhibit
        self._warned = ""
        self._writing = False

    def compose(self) -> ComposeResult:
        yield prompt(_ASK, enter="write it", start=file_name(self._exhibit), more=_ENDS)

    def on_mount(self) -> None:
        self.call_after_refresh(self._show_end)

    def _show_end(self) -> None:
        """Of a name that has no room, the end: it says what is written."""
        answer = self.query_one(Input)
        answer.scroll_to(answer.virtual_size.width, animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._writing:
            return
        name = event.value.strip()
        if not name:
            self.dismiss(None)
            return
        path = Path(name).expanduser()
        if path.exists() and self._warned != name:
            self._warned = name
            self.query_one("#question", Label).update(_THERE)
            return
        self._writing = True
        self.query_one("#question", Label).update(_WRITING)
        self.set_timer(_SEEN_S, lambda: self._write(path, force=self._warned == name))

    def _write(self, path: Path, *, force: bool) -> None:
        try:
            export(self._exhibit, path, force=force)
        except KvtuiError as error:
            self._writing = False
            self.query_one("#question", Label).update(f"{error.message}:")
        else:
            self.dismiss(f"Exported to {path}.{_forgotten(self._exhibit)}")

    def action_leave(self) -> None:
        self.dismiss(None)


def _forgotten(exhibit: Exhibit) -> str:
    """What an export cannot tell any more, lane by lane."""
    return "".join(
        f" {lane.info.title}: the first {lane.forgotten:,} events are no longer known."
        for lane in exhibit.lanes
        if lane.forgotten
    )


def file_name(exhibit: Exhibit, suffix: str = ".html") -> str:
    """A name that tells trace and moment."""
    stem = re.sub(r"[^A-Za-z0-9.-]+", "-", Path(exhibit.heading.trace).stem).strip("-") or "trace"
    return f"kvtui-{stem}-{formats.clock(exhibit.time_s).replace(':', '-')}{suffix}"
