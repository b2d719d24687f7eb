"""What the terminal can do, asked before anything is drawn; standard library only."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping
from typing import Final, TextIO

FPS: Final = 20.0
FPS_REMOTE: Final = 10.0
_BITS: Final = {"256": 8, "16": 4, "none": 0}
_MANY_COLOURS: Final = ("kitty", "alacritty", "ghostty", "wezterm", "foot", "contour", "iterm")


def terminal_problem(
    *, stdin: TextIO | None = None, stderr: TextIO | None = None, env: Mapping[str, str] = os.environ
) -> str | None:
    """Why the screen cannot be shown here, in words; None if it can.

    Keys are read from standard input and the screen is written to standard error.
    """
    stdin = sys.__stdin__ if stdin is None else stdin
    stderr = sys.__stderr__ if stderr is None else stderr
    if stdin is None or not stdin.isatty():
        return "standard input is not a terminal"
    if stderr is None or not stderr.isatty():
        return "standard error is not a terminal"
    if env.get("TERM", "") in ("", "dumb"):
        return f"the terminal cannot place text (TERM={env.get('TERM') or 'unset'})"
    return None


def keys_from_the_terminal(*, tty: str = "/dev/tty") -> bool:
    """Read keys from the terminal where standard input was something else, a trace for one.

    Call it when that has been read: from then on descriptor 0 is the terminal. Gives whether anything was
    changed; nothing is where there is no terminal to read from or none to draw on.
    """
    stdin, stderr = sys.__stdin__, sys.__stderr__
    if stdin is None or stdin.closed or stdin.isatty() or stderr is None or not stderr.isatty():
        return False
    try:
        terminal = os.open(tty, os.O_RDWR)
    except OSError:
        return False
    os.dup2(terminal, stdin.fileno())
    os.close(terminal)
    return True


def ascii_only(stderr: TextIO | None = None) -> bool:
    """Whether the terminal's encoding has no block and line characters."""
    stderr = sys.__stderr__ if stderr is None else stderr
    encoding = (getattr(stderr, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    return encoding not in ("utf8", "utf16", "utf32", "utf8sig", "cp65001")


def believe_the_terminal(env: MutableMapping[str, str] = os.environ) -> None:
    """Drop exported COLUMNS and LINES: they would be taken for the size, and stay as they are on a resize."""
    for name in ("COLUMNS", "LINES"):
        env.pop(name, None)


def colourless(env: Mapping[str, str] = os.environ) -> bool:
    """Whether the user wants no colours (https://no-color.org: set to anything but the empty string)."""
    return bool(env.get("NO_COLOR"))


def colour_bits(env: Mapping[str, str] = os.environ) -> int:
    """Bits of a colour in this terminal: 24, 8, 4, or 0 where the user wants none. A terminal that does not
    say what it has, has sixteen; tmux understands 256, whatever it calls itself."""
    if colourless(env):
        return 0
    if env.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return 24
    term = env.get("TERM", "").lower()
    if term.endswith("direct"):
        return 24
    rich = term.endswith(("256color", "256colour")) or any(name in term for name in _MANY_COLOURS)
    return 8 if rich or env.get("TMUX") else 4


def tell_textual(colours: str = "auto", env: MutableMapping[str, str] = os.environ) -> int:
    """Settle the colours before Textual is loaded, which would judge for itself; gives their bits."""
    bits = colour_bits(env) if colours == "auto" else _BITS[colours]
    env["TEXTUAL_COLOR_SYSTEM"] = {24: "truecolor", 8: "256"}.get(bits, "standard")
    if not bits:
        env["NO_COLOR"] = "1"
    elif colours != "auto":
        env.pop("NO_COLOR", None)
    return bits


def view_rate(env: Mapping[str, str] = os.environ) -> float:
    """Views a second: fewer over a remote link."""
    return FPS_REMOTE if env.get("SSH_CONNECTION") else FPS
