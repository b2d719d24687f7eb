"""How long steps on real tensors take, and what that comes to in all layers and in a whole model."""

from __future__ import annotations

from kvtui.serving.measured import DeviceState
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut, text_width, wrap
from kvtui.tui.view.ink import BOLD, T1, T2, T3, WARN, Ink, lane_ink
from kvtui.tui.view.scene import Scene, labels

_LABEL, _LEAST, _WIDEST = 22, 8, 16  # of the words before figures, and of one figure
_ABOUT = "~"  # before what is not measured itself
Row = tuple[str, list[str], Ink]


def time_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = "", ascii: bool = False
) -> tuple[Line, ...]:
    """The panel; nothing where nothing is carried out."""
    canvas = Canvas(width, height)
    state = scene.device
    if state is None:
        return canvas.lines()
    canvas.put(margin, 0, "A step takes", BOLD)
    column = max(min((width - 2 * margin - _LABEL) // len(scene.lanes), _WIDEST), _LEAST)
    ends = [margin + _LABEL + column * (lane + 1) for lane in range(len(scene.lanes))]
    for lane, name in enumerate(labels(scene.lanes, width=column - 1)):
        canvas.put_right(ends[lane], 0, name, lane_ink(lane))
    if ends[-1] + text_width(hint) + 1 < width - margin:
        canvas.put_right(width - margin, 0, hint, T3)
    y = 1
    for label, values, ink in _rows(scene, state):
        canvas.put(margin, y, label, T3)
        for end, text in zip(ends, values, strict=True):
            canvas.put_right(end, y, cut(text, column - 1), T3 if text == formats.NA else ink)
        y += 1
    for text, ink in _words(state):
        for line in wrap(text.replace("–", "-") if ascii else text, width - 2 * margin):
            canvas.put(margin, y, line, ink)
            y += 1
    _bars(canvas, margin, y, scene, state, ends, column - 1, ascii)
    return canvas.lines()


def _bars(
    canvas: Canvas, x: int, y: int, scene: Scene, state: DeviceState, ends: list[int], width: int, ascii: bool
) -> None:
    """What of a derived step is memory's, in the colour of the lane, and what is predicted beside it."""
    known = {means.lane: means for means in state.steps if means.model_s is not None}
    if not known:
        return
    canvas.put(x, y, "memory, and all else", T3)
    for lane, (info, end) in enumerate(zip(scene.lanes, ends, strict=True)):
        means = known.get(info.name)
        if means is not None and means.model_s is not None:
            parts = [means.all_layers_s, means.model_s - means.all_layers_s]
            at = end - width
            for cells, glyph, ink in zip(
                formats.bar(parts, width=width), "#." if ascii else "█░", (lane_ink(lane), T3), strict=True
            ):
                at = canvas.put(at, y, glyph * cells, ink)


def _rows(scene: Scene, state: DeviceState) -> list[Row]:
    """One figure of each lane; lanes that are simulated have none."""
    known = {means.lane: means for means in state.steps}
    lanes = [known.get(info.name) for info in scene.lanes]
    measured, extrapolated, derived = (
        [None if means is None else getattr(means, name) for means in lanes]
        for name in ("measured_s", "all_layers_s", "model_s")
    )
    real, all_of_them = state.layers
    return [
        (f"measured, {real} of {all_of_them}", list(map(_time, measured)), T1),
        ("all layers, extrap.", list(map(_about, extrapolated)), T2),
        ("whole model, derived", list(map(_about, derived)), T2),
    ]


def _words(state: DeviceState) -> list[tuple[str, Ink]]:
    words = [(note, WARN) for note in state.notes]
    if any(means.model_s is not None for means in state.steps):
        words.append((f"Derived: all but memory's part as predicted for {state.predicted_for}.", T3))
    return words


def _about(seconds: float | None) -> str:
    return formats.NA if seconds is None else f"{_ABOUT}{_time(seconds)}"


def _time(seconds: float | None) -> str:
    return formats.NA if seconds is None else f"{seconds * 1000:,.2f} ms"
