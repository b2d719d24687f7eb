"""The band at the top: what is replayed on what, and where in time it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut, text_width
from kvtui.tui.view.ink import BAD, BOLD, PILL, T2, T3
from kvtui.tui.view.scene import Run, Scene

_SHORT_LABEL = {"simulated": "sim"}
_DOT = " · "
_NAME_CELLS = 12  # what is left of a long trace name at least


def header_line(scene: Scene, *, width: int, margin: int) -> Line:
    """The whole row. Details drop from the right until it fits; the label of the numbers never does."""
    canvas = Canvas(width, 1, ink=T2.on("well"))
    x = canvas.put(margin, 0, "kvtui", BOLD.on("well")) + 3
    right = canvas.put_right(width - margin, 0, formats.clock(scene.time_s), BOLD.on("well")) - 2
    if scene.filming:
        right = canvas.put_right(right, 0, "● rec", BAD.on("well")) - 2
    if scene.run is not Run.RUNNING:
        right = canvas.put_right(right, 0, f" {scene.word(scene.run.value.upper())} ", PILL)
    elif scene.speed and x + _least(scene) + text_width(scene.speed) + 6 < right:
        right = _speed(canvas, right, scene.speed)
    canvas.put(x, 0, _subject(scene, right - 2 - x), T3.on("well"))
    return canvas.lines()[0]


def _speed(canvas: Canvas, right: int, speed: str) -> int:
    """The speed between the keys that change it, where any do."""
    key = BOLD.on("well")
    keyed = speed != "live"
    x = canvas.put_right(right, 0, "]", key) if keyed else right
    x = canvas.put_right(x, 0, speed, T2.on("well"))
    x = canvas.put_right(x, 0, "[", key) if keyed else x
    return canvas.put_right(x, 0, "▶ ", T2.on("well"))


def _subject(scene: Scene, room: int) -> str:
    """The most telling form that fits."""
    name, rest = scene.heading.trace, ""
    for forms in _forms(scene):
        for least in (text_width(name), _NAME_CELLS):  # a shorter name before less behind it
            for rest in forms:
                if least + len(_DOT) + text_width(rest) <= room:
                    return f"{cut(name, room - text_width(rest) - len(_DOT))}{_DOT}{rest}"
    name = cut(name, room - text_width(rest) - len(_DOT))
    return f"{name}{_DOT}{rest}" if name else rest


def _forms(scene: Scene) -> Iterator[list[str]]:
    """What stands behind the name, from everything to the bare minimum; the name is shortened before a list
    of forms is given up."""
    heading, word = scene.heading, scene.word
    label, short = word(heading.label), word(_SHORT_LABEL.get(heading.label, heading.label))
    gpu = f"{heading.gpu}, {label}" if heading.gpu else label
    gpu_name = re.sub(r"\s+\d+ ?GB$", "", heading.gpu)
    gpu_short = f"{gpu_name} {short}".strip()
    model_short = re.sub(r"\s+\S+$", "", heading.model)
    each = f" {word('per GPU')}" if heading.gpus > 1 else ""
    size = formats.memory(heading.pool_bytes or 0)
    size = f"≤ {size}{each}" if heading.pool_at_most else f"{size}{each}"
    pool = f"{word('KV pool')} {size}" if heading.pool_bytes else ""
    blocks = f"{heading.blocks:,} blocks of {heading.block_size} tokens" if heading.blocks else ""
    blocks = scene.phrase(blocks)
    seed = f"{word('seed')} {heading.seed}" if heading.seed is not None else ""
    price = f"${heading.usd_per_hour:.2f}/h" if heading.usd_per_hour is not None else ""
    kv = f"KV {size}" if heading.pool_bytes else ""
    model = heading.model
    yield _joined(
        (model, gpu, pool, blocks, price, seed),
        (model, gpu, pool, blocks, price),
        (model, gpu, pool or blocks, price),
        (model, gpu_short, pool or blocks, price),
        (model_short, gpu_short, kv or blocks, price),
        (model, gpu, pool or blocks),
        (model_short, gpu_short, kv or blocks),
    )
    if text_width(heading.trace) <= _NAME_CELLS:  # else the pool goes before the model
        yield _joined((model, gpu), (model, gpu_short), (model_short, gpu_short))
    for last in ((gpu_short, kv or blocks), (gpu_short,), (short,)):
        yield _joined(last)


def _joined(*forms: tuple[str, ...]) -> list[str]:
    return [_DOT.join(filter(None, parts)) for parts in forms]


def _least(scene: Scene) -> int:
    """Cells that the shortest form needs, so that the speed gives way to it."""
    heading = scene.heading
    label = scene.word(_SHORT_LABEL.get(heading.label, heading.label))
    return min(text_width(heading.trace), _NAME_CELLS) + 3 + text_width(label)
