"""The tour as a page over the main screen."""

from __future__ import annotations

from typing import ClassVar, Final

from textual.binding import Binding
from textual.timer import Timer

from kvtui.comparison.heading import Heading
from kvtui.tui.mainscreen import MainScreen
from kvtui.tui.pages import Page
from kvtui.tui.tour.act import Act
from kvtui.tui.tour.scenes import SCENES
from kvtui.tui.tour.traffic import WIDTH
from kvtui.tui.view.header import header_line
from kvtui.tui.view.keys import Hint
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.tourpage import Picture, rows_for, tour_lines
from kvtui.tui.view.words.tour import tour_text

PICTURES_S: Final = 0.1  # between two pictures of a scene that is watched


def picture_of(act: Act, place: int, scenes: int, language: str) -> Picture:
    """What an act shows now."""
    point = act.point
    return Picture(
        act.frame,
        WIDTH,
        act.rows,
        act.lane.info.block_size,
        tour_text(act.scene.key, language).filled(point.values),
        (place, scenes),
        pointed=act.there,
        lit=point.lit,
        at=point.at,
        figure=point.figure,
        unit=point.unit,
        swatches=point.swatches,
    )


class TourPage(Page):
    """Scene after scene; each opens at its point and can be watched from its start."""

    BINDINGS: ClassVar = [
        Binding("right,l,enter", "next_scene", show=False),
        Binding("left,h", "previous_scene", show=False),
        Binding("space", "watch", show=False),
    ]

    def __init__(self, main: MainScreen) -> None:
        super().__init__(main)
        self._place = 0
        self._act: Act | None = None
        self._timer: Timer | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self._timer = self.set_interval(PICTURES_S, self._watch_on, pause=True)

    # ---- showing

    def _show(self) -> None:
        width, height = self.app.size
        rows = rows_for(width, height)
        if self._act is None or self._act.rows != rows:
            self._stand()
            self._act = Act(SCENES[self._place], rows)
        act, look = self._act, self._header.look
        picture = picture_of(act, self._place, len(SCENES), look.language)
        lines = tour_lines(picture, look, width=width, height=height - 2)
        self._text.styles.height = len(lines)
        self._text.show(lines)
        self._header.show([header_line(_scene_of(act), width=width, margin=2 if width > 80 else 1)])
        self._show_keys()

    def hints(self) -> list[Hint]:
        last = self._place == len(SCENES) - 1
        return [
            Hint("→", "to the screen" if last else "next scene", "next_scene"),
            *([Hint("←", "back", "previous_scene")] if self._place else []),
            Hint("space", "watch it happen", "watch"),
            Hint("esc", f"leave for the {'screen' if self._main.stage.recorded else 'simulation'}", "back"),
        ]

    # ---- keys

    def action_next_scene(self) -> None:
        if self._place + 1 == len(SCENES):
            self.dismiss()
        else:
            self._go_to(self._place + 1)

    def action_previous_scene(self) -> None:
        self._go_to(max(0, self._place - 1))

    def _go_to(self, place: int) -> None:
        self._stand()
        self._place, self._act = place, None
        self._show()

    def action_watch(self) -> None:
        """From the start of the scene to its point; pressed on the way, straight to the point."""
        if self._act is None or self._timer is None:
            return
        if self._act.there:
            self._act.rewind()
            self._timer.resume()
        else:
            self._go_to(self._place)
        self._show()

    def _watch_on(self) -> None:
        if self._act is not None:
            self._act.advance()
            if self._act.there:
                self._stand()
            self._show()

    def _stand(self) -> None:
        if self._timer is not None:
            self._timer.pause()


def _scene_of(act: Act) -> Scene:
    """What the header needs to know."""
    info, frame = act.lane.info, act.frame
    heading = Heading(
        trace="tour",
        label=info.label,
        pool_bytes=info.pool_bytes,
        blocks=info.blocks,
        block_size=info.block_size,
    )
    run = Run.PAUSED if act.there else Run.RUNNING
    return Scene(heading, (info,), (frame,), time_s=frame.time_s, run=run)
