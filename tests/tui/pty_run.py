"""Runs a program in a pseudo terminal, types into it and keeps what it writes. Standard library only."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).parents[2]
_PIECE_S = 0.005  # of a link that is read slowly
_NOT_TOLD = ("COLORTERM", "NO_COLOR", "COLUMNS", "LINES")  # the terminal and the test say these


class PtyRun:
    """A child on a terminal of its own; `output` is everything it has written so far."""

    def __init__(
        self,
        *command: str,
        size: tuple[int, int] = (120, 36),
        env: Mapping[str, str] | None = None,
        stdin: BinaryIO | None = None,
        cwd: Path = ROOT,
    ) -> None:
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        base = {key: value for key, value in os.environ.items() if key not in _NOT_TOLD}
        self.before = termios.tcgetattr(slave)
        self._slave = slave
        self.process = subprocess.Popen(
            [sys.executable, *command],
            stdin=slave if stdin is None else stdin,
            stdout=slave,
            stderr=slave,
            cwd=cwd,
            env=base | {"TERM": "xterm-256color", "PYTHONPATH": str(ROOT)} | dict(env or {}),
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        self.output = b""

    def read(
        self, seconds: float, *, until: Callable[[], bool] | None = None, link: int | None = None
    ) -> None:
        """Take in what it writes, for so long or until something holds; at most `link` bytes a second."""
        end = time.monotonic() + seconds
        most = 1 << 16 if link is None else max(1, int(link * _PIECE_S))
        while time.monotonic() < end and not (until and until()):
            ready, _, _ = select.select([self.master], [], [], min(0.05, max(0.0, end - time.monotonic())))
            if ready:
                try:
                    self.output += os.read(self.master, most)
                except OSError:
                    return
                if link is not None:
                    time.sleep(_PIECE_S)

    def shows(self, text: str) -> bool:
        return text.encode() in self.output

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        self.process.send_signal(signal.SIGWINCH)

    def restored(self) -> bool:
        """Whether the terminal is as it was: line mode and echo on, main screen, mouse off, cursor shown."""
        modes = termios.tcgetattr(self._slave)[3]
        line_mode = bool(modes & termios.ICANON and modes & termios.ECHO)
        tail = self.output
        pairs = (
            (b"\x1b[?1049h", b"\x1b[?1049l"),
            (b"\x1b[?1000h", b"\x1b[?1000l"),
            (b"\x1b[?25l", b"\x1b[?25h"),
        )
        return line_mode and all(tail.rfind(on) <= tail.rfind(off) for on, off in pairs)

    def wait(self, seconds: float = 10.0) -> int:
        """Its exit code."""
        self.read(seconds, until=lambda: self.process.poll() is not None)
        self.read(0.2)
        return self.process.wait(timeout=1)

    def close_terminal(self) -> None:
        """Hang up."""
        os.close(self._slave)
        os.close(self.master)
        self.master = self._slave = -1

    def __enter__(self) -> PtyRun:
        return self

    def __exit__(self, *exc: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self._slave):
            if fd >= 0:
                os.close(fd)


def _take_terminal() -> None:
    fcntl.ioctl(2, termios.TIOCSCTTY, 0)
