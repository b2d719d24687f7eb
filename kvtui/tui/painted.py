"""The base of our widgets: rows built once, kept until they change, and handed to Textual as they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.color import ColorSystem
from textual.filter import LineFilter
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from kvtui.tui.inks import style_of
from kvtui.tui.outlet import Outlet, Stretch
from kvtui.tui.spanfix import part
from kvtui.tui.view.canvas import Rect
from kvtui.tui.view.ink import T2
from kvtui.tui.view.palette import Look


class Painted(Widget):
    """Draws whole rows in palette colours; `build` gives a row, `repaint` says what changed."""

    ALLOW_SELECT = False

    def __init__(self, look: Look, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.look = look
        self.outlet: Outlet | None = None  # of a screen that sends changes itself
        self.place: Rect | None = None  # on its screen
        self._rows: list[Strip] = []
        self._extent = (0, 0)
        self._stale: set[int] = set()

    def build(self, y: int) -> Strip:
        """Row `y`, as wide as it happens to be."""
        raise NotImplementedError

    def set_look(self, look: Look) -> None:
        """Draw in other colours and shapes from now on."""
        self.look = look
        self.repaint_all()

    def repaint(self, stretches: Iterable[Stretch]) -> None:
        """These cells do not look as before."""
        changed = list(stretches)
        if changed:
            self._stale.update(stretch.y for stretch in changed)
            if self.outlet is None or not self.outlet.take(self, changed):
                self.refresh(*(Region(start, y, end - start, 1) for y, start, end in changed))

    def sent(self, stretch: Stretch, system: ColorSystem) -> str:
        """These cells as text for the terminal."""
        strip = self._row(stretch.y, self.size.width)
        return "".join(part(strip, stretch.start, stretch.end, system))

    def repaint_all(self) -> None:
        self._extent = (0, 0)
        self.refresh()

    def get_line_filters(self) -> Sequence[LineFilter]:
        return []

    def render_lines(self, crop: Region) -> list[Strip]:
        width, height = crop.right, crop.bottom
        if self._extent != (width, height):
            self._extent = (width, height)
            self._rows = [self._row(y, width) for y in range(height)]
        else:
            for y in self._stale:
                if y < height:
                    self._rows[y] = self._row(y, width)
        self._stale.clear()
        if not crop.x and not crop.y:
            return self._rows
        return [strip.crop(crop.x, width) for strip in self._rows[crop.y :]]

    def _row(self, y: int, width: int) -> Strip:
        strip = self.build(y)
        if strip.cell_length == width:
            return strip
        return strip.adjust_cell_length(width, style_of(T2, self.look.palette))
