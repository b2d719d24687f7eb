"""What the terminal can do, in words, and what kvtui will use of it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kvtui.tui.ask import Answers
from kvtui.tui.terminal import ascii_only, colour_bits, terminal_problem, view_rate
from kvtui.tui.view.layout import Form, plan_for
from kvtui.tui.view.words import language_of

_COLOURS = {24: "24-bit", 8: "256 colours", 4: "16 colours", 0: "none wanted (NO_COLOR)"}
_FORMS = {
    Form.LINE: "lanes one above the other",
    Form.SMALL: "lanes side by side, panels one at a time",
    Form.TALL: "lanes side by side, taller grids",
    Form.TALLER: "lanes side by side, tall grids",
    Form.MEDIUM: "lanes side by side, panels below",
    Form.LARGE: "lanes side by side, all panels open",
}
_BRIGHT = 128


class Finding(NamedTuple):
    """A line of the diagnosis: what was found, what follows, and what the user could do about it."""

    topic: str
    found: str
    used: str
    advice: str = ""


def findings(
    answers: Answers | None, *, size: tuple[int, int] | None = None, env: Mapping[str, str] = os.environ
) -> Iterator[Finding]:
    """All of it, without a screen being opened. `answers` is None where there is no terminal to ask."""
    problem = terminal_problem(env=env)
    yield Finding("screen", problem or "can be shown", "--headless instead" if problem else "full screen")
    yield _terminal(answers, env)
    yield _size(size or shutil.get_terminal_size())
    yield _colours(env)
    yield _background(answers)
    yield _unicode(answers)
    yield _synchronized(answers)
    yield _multiplexer(env)
    yield _link(answers, env)
    yield Finding("mouse", "asked for when the screen opens", "click and wheel", "--no-mouse leaves it alone")
    yield Finding("locale", _locale(env), {"en": "English", "ja": "Japanese"}[language_of(env)])


def _terminal(answers: Answers | None, env: Mapping[str, str]) -> Finding:
    term = f"TERM={env.get('TERM') or 'unset'}"
    name = answers.name if answers else None
    program = name or env.get("TERM_PROGRAM")
    return Finding("terminal", f"{term}, {program}" if program else f"{term}, does not say its name", "")


def _size(size: tuple[int, int]) -> Finding:
    plan = plan_for(*size, lanes=2)
    found = f"{size[0]} x {size[1]} cells"
    if plan is None:
        return Finding("size", found, "nothing: too small", "60 x 16 is the least; --plain needs no size")
    advice = "" if plan.form is Form.LARGE else "200 x 60 shows all panels at once"
    return Finding("size", found, _FORMS[plan.form], advice)


def _colours(env: Mapping[str, str]) -> Finding:
    bits = colour_bits(env)
    used = {0: "shapes and weights alone", 4: "16 colours, the terminal's own"}.get(bits, "256 colours")
    advice = "if it has more: export COLORTERM=truecolor, or --colors 256" if bits == 4 else ""
    return Finding("colours", _COLOURS[bits], used, advice)


def _background(answers: Answers | None) -> Finding:
    if answers is None or answers.background is None:
        return Finding("background", "not told", "--theme dark", "on a light one: --theme light")
    red, green, blue = answers.background
    light = (299 * red + 587 * green + 114 * blue) / 1000 >= _BRIGHT
    found = f"#{red:02x}{green:02x}{blue:02x}, {'light' if light else 'dark'}"
    return Finding("background", found, "--theme dark", "--theme light goes with it" if light else "")


def _unicode(answers: Answers | None) -> Finding:
    if ascii_only():
        return Finding("characters", "the encoding is not UTF-8", "ASCII", "export LC_ALL=C.UTF-8")
    narrow = answers.narrow if answers else None
    if narrow is False:
        return Finding(
            "characters",
            "UTF-8, but drawn two cells wide",
            "would be out of place",
            "--ascii, or switch 'ambiguous width' to narrow",
        )
    found = "UTF-8, block characters one cell wide" if narrow else "UTF-8"
    return Finding("characters", found, "blocks, lines and braille")


def _synchronized(answers: Answers | None) -> Finding:
    known = answers.synchronized if answers else None
    if known is None:
        return Finding("frames", "not told whether they are shown at once", "few bytes a frame")
    return Finding("frames", "shown at once" if known else "shown as they come", "few bytes a frame")


def _multiplexer(env: Mapping[str, str]) -> Finding:
    if env.get("TMUX"):
        return Finding(
            "inside", "tmux", "", "set -g focus-events on: fewer frames while another pane is used"
        )
    if env.get("STY"):
        return Finding("inside", "screen", "")
    return Finding("inside", "neither tmux nor screen", "")


def _link(answers: Answers | None, env: Mapping[str, str]) -> Finding:
    where = "over SSH" if env.get("SSH_CONNECTION") else "local"
    if answers is not None and answers.answered:
        where += f", {1000 * answers.seconds:,.0f} ms there and back"
    return Finding("link", where, f"{view_rate(env):.0f} frames a second at most")


def _locale(env: Mapping[str, str]) -> str:
    return next(
        (f"{name}={env[name]}" for name in ("LC_ALL", "LC_MESSAGES", "LANG") if env.get(name)), "unset"
    )


def lines(found: Iterator[Finding]) -> Iterator[str]:
    """The findings as a table; advice stands below what it is about."""
    for finding in found:
        used = f"  -> {finding.used}" if finding.used else ""
        yield f"{finding.topic:<12}{_printable(finding.found)}{used}"
        if finding.advice:
            yield f"{'':12}({finding.advice})"


def _printable(text: str) -> str:
    return re.sub(r"[^ -~]", "?", text)
