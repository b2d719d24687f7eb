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


@pytest.mark.parametrize(
    ("size", "fix", "link"),
    [((120, 36), "on", None), ((80, 24), "off", None), ((200, 60), "on", 60_000)],
    ids=["120x36", "80x24, spans from the edge", "200x60, slow link"],
)
def test_every_cell_is_the_one_that_was_meant(
    tmp_path: Path, size: tuple[int, int], fix: str, link: int | None
) -> None:
    env = {"KVTUI_NO_SPAN_FIX": "1"} if fix == "off" else {}
    with PtyRun("-m", "tests.tui.wire_child", str(tmp_path), size=size, env=env) as run:
        run.read(20.0, until=lambda: run.shows("Paged"), link=link)
        run.read(1.5, link=link)
        for keys in (
            "\x10",
            "light",
            "\x1b",
            "?",
            "\x1b",
            "2",
            "\t",
            "T",
            " ",
            "\x1b",
            ":",
            "\x1b",
            "S",
            "\x1b",
        ):
            run.type(keys)
            run.read(0.6, link=link)
        run.read(1.0, link=link)
        (tmp_path / "stop").touch()
        run.read(20.0, until=(tmp_path / "cells.json").exists)
        run.read(0.3)
    assert len(run.output) > 80_000, "hundreds of frames"
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


def colours_sent(*arguments: str, **env: str) -> set[str]:
    """The colour codes of a run with a page and the palette opened."""
    with PtyRun("-m", "kvtui", "chat", *arguments, size=(80, 24), env=env) as run:
        run.read(20.0, until=lambda: run.shows("Paged") and run.shows("quit"))
        for keys in ("?", "\x1b", "\x10", "\x1b"):
            run.type(keys)
            run.read(0.5)
        run.type("q")
        assert run.wait() == 0
    codes = re.findall(rb"\x1b\[([0-9;]*)m", run.output)
    return {code.decode() for code in codes}


def numbers(codes: set[str]) -> set[int]:
    return {int(part) for code in codes for part in code.split(";") if part}


def test_no_colour_means_no_colour_codes() -> None:
    for codes in (colours_sent(NO_COLOR="1"), colours_sent("--colors", "none")):
        colours = {number for number in numbers(codes) if 30 <= number <= 49 or 90 <= number <= 107}
        assert colours <= {39, 49}, "the terminal's own colours and no others"


def test_sixteen_colours_are_the_terminals_own() -> None:
    codes = colours_sent(TERM="xterm")
    assert not any("38;" in code or "48;" in code for code in codes)
    assert {92, 94} <= numbers(codes), "the compared lane and a request"


@pytest.mark.parametrize("colorterm", ["", "truecolor"])
def test_256_colours_are_enough(colorterm: str) -> None:
    with PtyRun("-m", "kvtui", "chat", size=(80, 24), env={"COLORTERM": colorterm}) as run:
        run.read(20.0, until=lambda: run.shows("Paged"))
        run.read(1.0)
        run.type("q")
        assert run.wait() == 0
    assert b"38;5;" in run.output
    assert b"38;2;" not in run.output, "the picture is the same in a terminal with 24 bits"
    blank = set(re.findall(rb"48;2;[0-9;]+", run.output))
    assert blank <= {b"48;2;18;18;18"}, "nothing but the background behind everything"


def test_a_storm_of_sizes_ends_with_a_whole_screen() -> None:
    with PtyRun("-m", "kvtui", "chat", size=(80, 24)) as run:
        run.read(20.0, until=lambda: run.shows("Paged") and run.shows("quit"))
        for at in range(24):
            run.resize(60 + 17 * at % 141, 12 + 7 * at % 49)
            run.read(0.05)
        run.type(" ")
        run.read(2.0)
        start = len(run.output)
        run.resize(120, 36)
        run.read(3.0, until=lambda: b"quit" in run.output[start:])
        run.read(0.7)
        screen = emulated(run.output[start:], (120, 36))
        run.type("q")
        assert run.wait() == 0
        assert run.restored()
    shown = "\n".join(screen.display)
    assert all(text in shown for text in ("PAUSED", "Contiguous", "Paged", "Batch size", "Events", "q quit"))
    assert not any(char in shown for char in "\ufffd\x1b")
