"""What the widgets hand to Textual, and which cells they ask it to send."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.geometry import Region

from kvtui.tui.grid import BlockGrid, spans
from kvtui.tui.rows import Rows, _difference
from kvtui.tui.view.canvas import Line, char_width, line_width
from kvtui.tui.view.cells import Kind, code
from kvtui.tui.view.ink import BOLD, T2, Ink
from kvtui.tui.view.palette import PALETTES, Look


class Bench(App[None]):
    CSS = "Rows, BlockGrid { width: 20; height: 4; }"

    def __init__(self, look: Look | None = None) -> None:
        super().__init__()
        self.rows = Rows(look or Look())
        self.grid = BlockGrid(look or Look())
        self.asked: list[Region] = []

    def compose(self) -> ComposeResult:
        yield self.rows
        yield self.grid

    def watch(self, widget: Rows | BlockGrid) -> list[Region]:  # type: ignore[override]
        """Regions that the widget asks to have sent from now on."""
        asked: list[Region] = []
        refresh = widget.refresh

        def note(*regions: Region, **options: bool) -> object:
            asked.extend(regions or [Region(-1, -1, 0, 0)])
            return refresh(*regions, **options)

        widget.refresh = note  # type: ignore[assignment]
        return asked


WHOLE = Region(0, 0, 20, 4)


async def test_rows_show_their_lines_and_blank_the_rest() -> None:
    async with Bench().run_test() as pilot:
        rows = pilot.app.rows
        rows.show([(("abc", BOLD), (" de", T2))])
        strips = rows.render_lines(WHOLE)
        assert [strip.text for strip in strips] == ["abc de".ljust(20), " " * 20, " " * 20, " " * 20]
        assert all(segment.style and segment.style.bgcolor for strip in strips for segment in strip)
        assert rows.render_lines(Region(1, 0, 4, 1))[0].text == "bc d"


async def test_rows_ask_only_for_cells_that_changed() -> None:
    async with Bench().run_test() as pilot:
        rows = pilot.app.rows
        rows.show([(("waiting 143", T2),), (("same", T2),)])
        rows.render_lines(WHOLE)
        asked = pilot.app.watch(rows)
        rows.show([(("waiting 151", T2),), (("same", T2),)])
        assert asked == [Region(9, 0, 2, 1)]
        assert rows.render_lines(WHOLE)[0].text.startswith("waiting 151")
        asked.clear()
        rows.show([(("waiting 151", T2),), (("same", T2),)])
        assert not asked
        rows.show([(("waiting 15", T2), ("1", BOLD)), (("same", T2),)])
        assert asked == [Region(10, 0, 1, 1)], "a change of ink is a change"
        asked.clear()
        rows.show([(("連続", T2),)])
        assert asked[0] == Region(0, 0, 11, 1), "wide characters: the whole row"
        assert rows.render_lines(WHOLE)[0].text == "連続".ljust(18)


LINES = st.lists(st.tuples(st.text("ab 連続·", min_size=1), st.sampled_from([T2, BOLD])), max_size=4).map(
    tuple
)


def cells(line: Line, width: int) -> list[tuple[str, Ink]]:
    """What stands in each cell; the second of a wide character is empty."""
    spread = [(part, ink) for text, ink in line for char in text for part in [char, ""][: char_width(char)]]
    return [*spread, *[(" ", T2)] * (width - len(spread))]


@given(LINES, LINES)
def test_a_row_is_as_before_outside_of_what_is_sent(before: Line, after: Line) -> None:
    width = max(line_width(before), line_width(after))
    if before != after:
        y, start, end = _difference(before, after, 3)
        was, becomes = cells(before, width), cells(after, width)
        assert was[:start] + was[end:] == becomes[:start] + becomes[end:]
        assert y == 3
        assert 0 <= start < end


async def test_a_grid_asks_only_for_cells_that_changed() -> None:
    async with Bench().run_test() as pilot:
        grid = pilot.app.grid
        codes = np.full((4, 20), code(Kind.STORED, 8, 1), np.uint16)
        grid.show(codes)
        assert grid.render_lines(WHOLE)[0].text == "█" * 20
        asked = pilot.app.watch(grid)
        after = codes.copy()
        after[1, 3] = code(Kind.HOLE)
        after[1, 15] = code(Kind.HOLE)
        after[3, 0] = code(Kind.HOLE)
        grid.show(after)
        assert asked == [Region(3, 1, 1, 1), Region(15, 1, 1, 1), Region(0, 3, 1, 1)]
        assert grid.render_lines(WHOLE)[1].text == "███╱███████████╱████"
        asked.clear()
        grid.show(after.copy())
        assert not asked


def test_near_cells_are_sent_together_and_many_as_one() -> None:
    assert spans([3]) == [(3, 4)]
    assert spans([3, 5, 9]) == [(3, 10)]
    assert spans([3, 10]) == [(3, 4), (10, 11)]
    assert spans(list(range(0, 64, 8))) == [(0, 57)]


async def test_another_look_is_drawn_at_once() -> None:
    async with Bench().run_test() as pilot:
        grid, rows = pilot.app.grid, pilot.app.rows
        grid.show(np.full((1, 20), code(Kind.STORED, 8, 1), np.uint16))
        rows.show([(("a · b", T2),)])
        for widget in (grid, rows):
            widget.render_lines(WHOLE)
            widget.set_look(Look(PALETTES["light"], ascii=True))
        assert grid.render_lines(WHOLE)[0].text == "B" * 20
        strip = rows.render_lines(WHOLE)[0]
        assert strip.text.startswith("a - b")
        assert next(iter(strip)).style.color.number == PALETTES["light"].roles["t2"]


async def test_colours_are_numbers_of_the_table_and_nothing_filters_them() -> None:
    async with Bench().run_test() as pilot:
        rows = pilot.app.rows
        rows.show([(("a", T2),)])
        style = next(iter(rows.render_lines(WHOLE)[0])).style
        assert (style.color.number, style.bgcolor.number) == (250, 233)
        assert list(rows.get_line_filters()) == []


async def test_without_colours_there_are_only_weights() -> None:
    async with Bench(Look(PALETTES["none"])).run_test() as pilot:
        rows = pilot.app.rows
        rows.show([(("a", BOLD), ("b", T2))])
        first, second, *_ = rows.render_lines(WHOLE)[0]
        assert first.style.bold
        assert second.style.color is second.style.bgcolor is None
