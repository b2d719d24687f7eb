"""What reaches the terminal: after many frames every cell on it is the one that was meant."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyte
import pytest

from kvtui.tui.view.palette import rgb
from tests.tui.pty_run import PtyRun

# Modes and questions that the emulator does not know and would print.
_UNKNOWN = re.compile(r"\x1b\[[?<=>][0-9;$]*[a-zA-Z]|\x1b[PX^_][^\x1b]*\x1b\\|\x1b\[[0-9;]*\$p")


def emulated(output: bytes, size: tuple[int, int]) -> pyte.Screen:
    screen = pyte.Screen(*size)
    pyte.Stream(screen).feed(_UNKNOWN.sub("", output.decode("utf-8", "replace")))
    return screen


def hex_of(number: int) -> str:
    return "{:02x}{:02x}{:02x}".format(*rgb(number))


@pytest.mark.parametrize(("size", "fix"), [((120, 36), "on"), ((80, 24), "off")])
def test_every_cell_is_the_one_that_was_meant(tmp_path: Path, size: tuple[int, int], fix: str) -> None:
    env = {"KVTUI_NO_SPAN_FIX": "1"} if fix == "off" else {}
    with PtyRun("-m", "tests.tui.wire_child", str(tmp_path), size=size, env=env) as run:
        run.read(20.0, until=lambda: run.shows("Paged"))
        run.read(1.5)
        for keys in ("\x10", "light", "\x1b", "?", "\x1b", "2", "\t", "\x10", "x", "\x1b"):
            run.type(keys)
            run.read(0.6)
        run.read(1.0)
        (tmp_path / "stop").touch()
        run.read(20.0, until=(tmp_path / "cells.json").exists)
        run.read(0.3)
    assert len(run.output) > 100_000, "hundreds of frames"
    screen = emulated(run.output, size)
    meant = json.loads((tmp_path / "cells.json").read_text())
    assert len(meant) > size[0] * size[1] * 0.6
    wrong = [
        (x, y, char, shown.data)
        for x, y, char, fore, back in meant
        if (shown := screen.buffer[y][x]).data != char
        or shown.bg != hex_of(back)
        or (char != " " and shown.fg != hex_of(fore))
    ]
    assert not wrong, f"{len(wrong)} of {len(meant)} cells, such as {wrong[:5]}"


def test_no_colour_means_no_colour_codes() -> None:
    with PtyRun("-m", "kvtui", "chat", size=(80, 24), env={"NO_COLOR": "1"}) as run:
        run.read(20.0, until=lambda: run.shows("Paged"))
        run.type("?")
        run.read(0.5)
        run.type("\x1b")
        run.read(0.5)
        run.type("q")
        assert run.wait() == 0
    codes = re.findall(rb"\x1b\[([0-9;]*)m", run.output)
    numbers = {int(part) for code in codes for part in code.split(b";") if part}
    colours = {number for number in numbers if 30 <= number <= 49 or 90 <= number <= 107}
    assert colours <= {39, 49}, "the terminal's own colours and no others"


def test_256_colours_are_enough() -> None:
    with PtyRun("-m", "kvtui", "chat", size=(80, 24)) as run:
        run.read(20.0, until=lambda: run.shows("Paged"))
        run.read(1.0)
        run.type("q")
        assert run.wait() == 0
    assert b"38;5;" in run.output
    assert b"38;2;" not in run.output
    assert b"48;2;" not in run.output
