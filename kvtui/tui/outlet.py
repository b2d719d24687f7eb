"""Sends what changed in our own widgets to the terminal at once, while nothing else lies on their screen.

On Textual's way a change takes several messages and a timer, and draws every widget near it. Where a screen
holds nothing but our widgets side by side, none of that decides what has to be sent: each widget gives the
text of the cells that changed. For this Textual is asked what it keeps for itself, where widgets are and when
it writes. So it is done only in versions that were tested; otherwise, and whenever anything else is to be
seen, changes go Textual's way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import combinations
from typing import Any, Final, NamedTuple

from rich.color import ColorSystem
from textual.app import App
from textual.geometry import Region
from textual.screen import Screen

from kvtui.tui import spanfix

_SYNC: Final = ("\x1b[?2026h", "\x1b[?2026l")  # between them a terminal shows nothing


class Stretch(NamedTuple):
    """Cells of one row, `end` not among them."""

    y: int
    start: int
    end: int


class Outlet:
    """Of one screen and all widgets of it that can send."""

    def __init__(self, screen: Screen[Any], senders: Iterable[Any]) -> None:
        self._screen = screen
        self._senders = {*senders}
        for sender in self._senders:
            sender.outlet = self
        self._seen: object = None  # what was in sight when it was last looked at
        self._plain = False  # whether that is our widgets side by side, and nothing else
        self._collecting = False
        self._changes: list[tuple[Any, Region, list[Stretch]]] = []

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Changes that are taken inside are sent together at the end."""
        self._collecting = self._ready()
        try:
            yield
        finally:
            self._collecting = False
            changes, self._changes = self._changes, []
            if changes:
                _write(self._screen.app, _text(changes, self._screen.app))

    def take(self, widget: Any, stretches: list[Stretch]) -> bool:
        """Whether these changes of a widget will be sent from here."""
        if not self._collecting:
            return False
        place = self._screen._compositor.visible_widgets.get(widget)
        if place is None or place[0] != widget.place:
            return False  # it is to move yet
        self._changes.append((widget, place[0], stretches))
        return True

    def _ready(self) -> bool:
        screen, app = self._screen, self._screen.app
        if not (spanfix.usable() and _writable(app)) or screen is not app.screen or screen._layout_required:
            return False
        seen = screen._compositor.visible_widgets
        if seen is not self._seen:
            self._seen, self._plain = seen, self._side_by_side(seen)
        return self._plain

    def _side_by_side(self, seen: dict[Any, tuple[Region, Region]]) -> bool:
        places = {widget: place for widget, place in seen.items() if widget is not self._screen}
        return (
            places.keys() <= self._senders
            and all(clip.contains_region(region) for region, clip in places.values())
            and not any(one.overlaps(other) for (one, _), (other, _) in combinations(places.values(), 2))
        )


def _writable(app: App[Any]) -> bool:
    """Whether Textual itself would write now."""
    shown = app._driver is not None and app._running and not app._closed
    return shown and not app.is_headless and not app._batch_count


def _text(changes: list[tuple[Any, Region, list[Stretch]]], app: App[Any]) -> str:
    """Changes as text, each behind a movement of the cursor."""
    system = app.console._color_system or ColorSystem.TRUECOLOR
    text: list[str] = []
    for widget, region, stretches in changes:
        for y, start, end in stretches:
            if y < region.height and start < region.width:
                text.append(f"\x1b[{region.y + y + 1};{region.x + start + 1}H")
                text.append(widget.sent(Stretch(y, start, min(end, region.width)), system))
    return "".join(text)


def _write(app: App[Any], text: str) -> None:
    """All of it at once, so that the thread that sends it wakes but once."""
    assert app._driver is not None
    begin, end = _SYNC if app._sync_available else ("", "")
    app._driver.write(f"{begin}{text}{end}")
    app._driver.flush()
