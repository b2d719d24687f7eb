"""The device that carries steps out: where its memory is, what was checked, what the driver says."""

from __future__ import annotations

from kvtui.serving.measured import DeviceState
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut
from kvtui.tui.view.ink import BAD, BOLD, T1, T2, T3, WARN, Ink
from kvtui.tui.view.scene import Scene

UNSAID = "–"
FLAT = "A pool is taken whole, and stays so full or empty."
_COLUMN = 28
_SHADES = (T1, T2, WARN, T3)  # of the four parts of memory
_GLYPHS = "█▓▒░"
_HELD = {  # why a GPU is held back, in a word
    "power limit": "power",
    "hardware slowdown": "slowed",
    "sync boost": "sync",
    "temperature (driver)": "heat",
    "temperature (hardware)": "heat",
    "power brake": "brake",
}
Row = tuple[str, str, Ink]


def device_lines(
    scene: Scene, *, width: int, height: int, margin: int = 2, hint: str = "", ascii: bool = False
) -> tuple[Line, ...]:
    """The panel; nothing where nothing is carried out."""
    canvas = Canvas(width, height)
    state = scene.device
    if state is None:
        return canvas.lines()
    x, room = margin, width - 2 * margin
    end = canvas.put(x, 0, "Device", BOLD)
    real, all_of_them = state.layers
    kernel = f", {state.attention}" if state.attention else ""
    what, ink = f"{state.label}{kernel}, {real} of {all_of_them} layers", T3
    if state.driver_lost:
        what, ink = f"{state.label}: its driver answers no more", WARN
    canvas.put(end + 2, 0, cut(what, room - 8 - (len(hint) + 2 if hint else 0)), ink)
    canvas.put_right(width - margin, 0, hint, T3)
    _bar(canvas, x, 1, state, min(room, 2 * _COLUMN), ascii)
    beside = room >= 2 * _COLUMN
    left, right = _memory(state), _driver(state)
    if beside:
        _rows(canvas, x, 2, left, ascii)
        _rows(canvas, x + _COLUMN, 2, right, ascii)
        canvas.put(x, 2 + max(len(left), len(right)), cut(FLAT, room), T3)
    else:
        _rows(canvas, x, 2, left + right, ascii)
    return canvas.lines()


def _memory(state: DeviceState) -> list[Row]:
    parts = zip(("K/V pools", "torch, beyond", "others", "free"), _parts(state), _SHADES, strict=True)
    rows = [(name, UNSAID if n is None else formats.memory(n), ink) for name, n, ink in parts]
    if state.process_bytes is not None:  # of a CPU nobody keeps apart what torch has beyond the pools
        rows[1] = ("process, peak", formats.memory(state.process_bytes), T2)
    checked = (UNSAID, T3)
    if state.verified:
        checked = (f"{state.checked:,}, {state.failed:,} wrong", BAD if state.failed else T1)
    return [("checked", *checked), *rows]


def _driver(state: DeviceState) -> list[Row]:
    why = dict.fromkeys(_HELD.get(words, words) for words in state.held_back or ())
    held = None if state.held_back is None else "+".join(why) or "no"
    return [
        ("busy", _said(state.busy_pct, "{} %"), T1),
        ("power", _said(state.power_w, "{:.0f} W"), T1),
        ("J a token", _said(state.energy_j_per_token, "{:.3g}"), T1),
        ("held back", held or UNSAID, WARN if state.held_back else T1),
        ("temperature", _said(state.temperature_c, "{} °C"), T1),
        ("clock", _said(state.clock_mhz, "{:,} MHz"), T1),
    ]


def _said(value: float | None, form: str) -> str:
    return UNSAID if value is None else form.format(value)


def _parts(state: DeviceState) -> tuple[int | None, ...]:
    return state.pool_bytes, state.reserved_bytes, state.other_bytes, state.free_bytes


def _bar(canvas: Canvas, x: int, y: int, state: DeviceState, width: int, ascii: bool) -> None:
    """The four parts of the device's memory as one bar, as far as they are known."""
    known = [part or 0 for part in _parts(state)]
    if not sum(known):
        return
    for part, (cells, ink) in enumerate(zip(formats.bar(known, width=width), _SHADES, strict=True)):
        x = canvas.put(x, y, ("#=+."[part] if ascii else _GLYPHS[part]) * cells, ink)


def _rows(canvas: Canvas, x: int, y: int, rows: list[Row], ascii: bool) -> None:
    for at, (label, value, ink) in enumerate(rows):
        canvas.put(x, y + at, label, T3)
        value = cut(value, _COLUMN - 4 - len(label))
        canvas.put_right(x + _COLUMN - 3, y + at, value.replace(UNSAID, "-") if ascii else value, ink)
