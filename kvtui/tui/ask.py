"""Asks the terminal itself what it can do; standard library only. It answers what it understands."""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WAIT_S = 1.0  # for all answers together; a slow link needs some of it
_RULER = "█▒╱⠿"  # characters that some terminals draw two cells wide
_SYNC = "\x1b[?2026$p"
_NAME = "\x1b[>0q"
_BACKGROUND = "\x1b]11;?\x1b\\"
_WHERE = "\x1b[6n"
_LAST = "\x1b[c"  # every terminal answers this one, and answers come in order


@dataclass(frozen=True)
class Answers:
    """None: the terminal did not say."""

    name: str | None = None
    synchronized: bool | None = None  # whether it can show a frame all at once
    background: tuple[int, int, int] | None = None  # red, green, blue, 0-255
    narrow: bool | None = None  # whether block, line and braille characters are one cell wide
    answered: bool = False  # whether it said anything
    seconds: float = 0.0  # until the last answer: there and back


def ask(fd_in: int = 0, fd_out: int = 2) -> Answers:
    """What the terminal behind two descriptors says of itself; waits at most `WAIT_S`."""
    with _raw(fd_in):
        start = time.monotonic()
        ruler = f"\r{_WHERE}{_RULER}{_WHERE}\r\x1b[K"
        os.write(fd_out, (_SYNC + _NAME + _BACKGROUND + ruler + _LAST).encode())
        said = _read(fd_in, start + WAIT_S)
        return understood(said, time.monotonic() - start)


def understood(said: str, seconds: float = 0.0) -> Answers:
    """What a terminal's answers mean."""
    sync = re.search(r"\x1b\[\?2026;(\d)\$y", said)
    name = re.search(r"\x1bP>\|([^\x1b\x07]*)", said)
    colour = re.search(r"\x1b\]11;rgb:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)", said)
    places = [int(column) for column in re.findall(r"\x1b\[\d+;(\d+)R", said)]
    return Answers(
        name=name.group(1) if name else None,
        synchronized=sync.group(1) in "1234" if sync else None,
        background=_rgb(*colour.groups()) if colour else None,
        narrow=places[1] - places[0] == len(_RULER) if len(places) == 2 else None,
        answered=bool(said),
        seconds=seconds,
    )


def _rgb(*parts: str) -> tuple[int, int, int]:
    red, green, blue = (int(part, 16) * 255 // (16 ** len(part) - 1) for part in parts)
    return red, green, blue


def _read(fd: int, until: float) -> str:
    said = b""
    while not re.search(rb"\x1b\[\?[\d;]*c", said):
        ready, _, _ = select.select([fd], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            break
        said += os.read(fd, 4096)
    return said.decode("utf-8", "replace")


@contextmanager
def _raw(fd: int) -> Iterator[None]:
    sys.stdout.flush()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSAFLUSH, before)
