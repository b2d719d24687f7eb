"""The part of the main screen that looks closer at the memory, and moves through it while it does not fit."""

from __future__ import annotations

from typing import Final

from textual.events import MouseScrollDown, MouseScrollUp
from textual.screen import Screen

from kvtui.tui.board import Board
from kvtui.tui.stage import Stage
from kvtui.tui.view.scale import cell_words
from kvtui.tui.view.scene import Scene
from kvtui.tui.view.zoom import Zoom, levels, row_of, scrolls, top_at

_WHEEL: Final = 3  # rows
_MOVED: Final = "{}. J and K or the wheel move through the pool, z shows all of it."
_FITS: Final = "{}: all of it is in sight."


class Zooming(Screen[None], inherit_bindings=False):
    """Needs a stage, a board, and what the main screen does to show a change."""

    stage: Stage
    board: Board

    def paint(self) -> None:
        raise NotImplementedError

    def rearrange(self) -> None:
        raise NotImplementedError

    def say(self, text: str) -> None:
        raise NotImplementedError

    # ---- keys

    def action_zoom(self) -> None:
        """A cell for each block; from anywhere closer than the whole pool back to that."""
        self._look_from(0 if self.board.zoom.far is None else None)

    def action_closer(self, by: int) -> None:
        if self.board.whole is not None:
            far, whole = self.board.zoom.far, len(levels(self.board.whole, self.stage.lanes)) - 1
            self._look_from((whole if far is None else far) - by)

    def action_scroll_grid(self, by: int) -> None:
        """Half a grid down or up."""
        if self.board.scale is not None:
            self._scroll_grid(by * max(1, self.board.scale.rows // 2))

    def _look_from(self, far: int | None) -> None:
        """Look as close as that at what is inspected, or at the memory that begins the grid now."""
        board, scene = self.board, self.stage.scene()
        before = board.scale
        if before is None:
            return
        board.look_at(Zoom(far), scene)
        assert board.scale is not None
        kept = before.top * before.tokens * (before.slot_bytes or 1)
        board.zoom = board.zoom._replace(top=kept // (board.scale.tokens * (board.scale.slot_bytes or 1)))
        self.rearrange()
        moves = scrolls(board.scale, scene.lanes)
        self.say((_MOVED if moves else _FITS).format(cell_words(board.scale, scene.lanes)))

    def _scroll_grid(self, rows: int) -> None:
        self._show_from(self.board.zoom.top + rows)

    def _show_from(self, top: int) -> None:
        if self.board.whole is not None:
            self.board.look_at(self.board.zoom._replace(top=top), self.stage.scene())
            self.paint()

    def follow(self, scene: Scene) -> None:
        """Bring the block that is inspected in sight."""
        shown, scale = scene.inspected, self.board.scale
        if shown is None or shown.block is None or scale is None:
            return
        row = row_of(scale, scene.lanes[shown.lane], shown.block.block)
        if not scale.top <= row < scale.top + scale.rows:
            self.board.look_at(self.board.zoom._replace(top=row - scale.rows // 2), scene)

    # ---- mouse

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        self._wheel_on_grid(event.screen_x, event.screen_y, _WHEEL)

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        self._wheel_on_grid(event.screen_x, event.screen_y, -_WHEEL)

    def _wheel_on_grid(self, x: int, y: int, rows: int) -> None:
        if any(view.grid.display and view.grid.region.contains(x, y) for view in self.board.lanes):
            self._scroll_grid(rows)

    def scroll_at(self, x: int, y: int) -> bool:
        """A click at a cell of the screen: whether it was one at the bar behind a grid, which moves there."""
        scale, scene = self.board.scale, self.stage.scene()
        for view in self.board.lanes if scale is not None else ():
            region = view.grid.region
            if scale is None or not view.grid.display or not region.contains(x, y):
                continue
            if x - region.x == scale.width and scrolls(scale, scene.lanes):
                self._show_from(top_at(scale, scene.lanes, y - region.y))
                return True
        return False
