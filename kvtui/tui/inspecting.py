"""The part of the main screen that opens the inspector: from the grid, the queues and the log, by key and
mouse."""

from __future__ import annotations

import re
from itertools import chain
from typing import Final

from textual.screen import Screen

from kvtui.tui.board import Board
from kvtui.tui.stage import Stage
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.cells import block_at
from kvtui.tui.view.events import newest
from kvtui.tui.view.listing import Listing
from kvtui.tui.view.scene import Scene

_NAME: Final = re.compile(r"\br(\d+)\b")  # a request as the panels write it


class Inspecting(Screen[None], inherit_bindings=False):
    """Needs a stage, a board, and what the main screen does to show a change."""

    stage: Stage
    board: Board

    def rearrange(self) -> None:
        """Another panel is to be seen, or another request."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        raise NotImplementedError

    # ---- keys

    def action_inspect(self) -> None:
        """Open it with the first request of the list in sight, or turn it to its other view."""
        if self.stage.selection.choice is not None:
            self.stage.selection.turn()
        elif candidates := self._candidates(self.stage.scene()):
            self.stage.selection.open(candidates[0], self.stage.target)
        else:
            self.say("There is no request to inspect yet.")
            return
        self.rearrange()

    def action_close(self) -> None:
        if self.stage.selection.choice is not None:
            self.stage.selection.close()
            self.rearrange()
        elif not self.stage.selection.listing.plain:
            self.stage.selection.listing = Listing()
            self.rearrange()

    def action_next_request(self, by: int) -> None:
        if self.stage.selection.choice is None:
            self.action_inspect()
            return
        self.stage.selection.next_request(self._candidates(self.stage.scene()), by)
        self.rearrange()

    def action_next_block(self, by: int) -> None:
        self.stage.selection.next_block(by)
        self.rearrange()

    def _candidates(self, scene: Scene) -> list[int]:
        """The requests that the keys go through: all that live in the chosen lane, those of the panel in
        sight first; where nobody lives, those that the log tells of."""
        lane = self.stage.target
        frame = scene.frames[lane]
        found = self.stage.selection.listing.matching
        running = [row.request for row in found(frame.running)]
        waiting = [row.request for row in found(frame.waiting)]
        living = waiting + running if self.panel_in_sight == "waiting" else running + waiting
        logged = (event.request for at, event in newest(scene) if at == lane and event.request >= 0)
        return living or [*dict.fromkeys(logged)]

    @property
    def panel_in_sight(self) -> str:
        """The panel that shares its place with others, "" if it is shut."""
        raise NotImplementedError

    # ---- mouse

    def inspect_at(self, x: int, y: int) -> bool:
        """A click at a cell of the screen: whether there was something to inspect."""
        scene = self.stage.scene()
        return self._grid_at(scene, x, y) or self._name_at(scene, x, y)

    def _grid_at(self, scene: Scene, x: int, y: int) -> bool:
        scale = self.board.scale
        for lane, view in enumerate(self.board.lanes):
            region = view.grid.region
            if scale is None or not view.grid.display or not region.contains(x, y):
                continue
            cells = scene.frames[lane].cells
            block = block_at(cells, scale, scene.lanes[lane], x=x - region.x, y=y - region.y)
            if block is not None:
                self._open_block(lane, block, int(cells.owner[block]))
                return True
        return False

    def _open_block(self, lane: int, block: int, owner: int) -> None:
        """A block that nobody holds is told of beside the request that is inspected, or the last it had."""
        choice = self.stage.selection.choice
        self.stage.focus = lane
        if owner < 0:
            owner = choice.request if choice is not None else self._last_owner(lane, block)
        if owner < 0:
            self.say(f"Nobody has held block {block} so far.")
            return
        self.stage.selection.open(owner, lane, block=block)
        self.rearrange()

    def _last_owner(self, lane: int, block: int) -> int:
        step = self.stage.scene().frames[lane].step
        tenures = self.stage.chronicle(lane).tenures(block, step)
        return tenures[-1].request if tenures else -1

    def _name_at(self, scene: Scene, x: int, y: int) -> bool:
        """A request that stands in the clicked row of a list; in the clicked column of it, if there are
        several."""
        for name in ("events", "waiting", "running", "queues", "inspector"):
            widget = self.board.panels[name]
            region = widget.region
            if not widget.display or not region.contains(x, y) or y - region.y >= len(widget.lines):
                continue
            found = [*_NAME.finditer(plain(widget.lines[y - region.y]))]
            before = [match for match in found if match.start() - 1 <= x - region.x]
            for match in chain(before[-1:], found[:1] if name == "events" else ()):
                self._open_request(scene, name, int(match[1]), x - region.x)
                return True
        return False

    def _open_request(self, scene: Scene, panel: str, request: int, x: int) -> None:
        lane = self.stage.target
        choice = self.stage.selection.choice
        if panel == "inspector" and choice is not None:
            lane = choice.lane
        elif panel != "events":
            lanes = [at for at, frame in enumerate(scene.frames) if _lives(frame, request)]
            lane = lane if lane in lanes or not lanes else lanes[0]
        self.stage.selection.open(request, lane)
        self.rearrange()


def _lives(frame: object, request: int) -> bool:
    rows = chain(getattr(frame, "running", ()), getattr(frame, "waiting", ()))
    return any(row.request == request for row in rows)
