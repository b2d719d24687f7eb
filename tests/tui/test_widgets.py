"""What the widgets hand to Textual, and which cells they ask it to send."""

from __future__ import annotations

import numpy as np
from textual.app import App, ComposeResult
from textual.geometry import Region

from kvtui.tui.grid import BlockGrid, spans
from kvtui.tui.rows import Rows
from kvtui.tui.view.cells import Kind, code
from kvtui.tui.view.ink import BOLD, T2
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
