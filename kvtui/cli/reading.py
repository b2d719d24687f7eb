"""How far the reading of a trace is, on standard error, where that is a terminal and it takes a while."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType

from kvtui.cli.progress import DELAY, INTERVAL

WIDTH = 30
MB = 1e6


class Reading:
    """Called with what is read and what there is; writes one line now and then, which is gone at the end."""

    def __init__(self) -> None:
        self._start = monotonic()
        self._due = self._start + DELAY if sys.stderr.isatty() else float("inf")
        self._shown = False

    def __call__(self, done: int, total: int) -> None:
        now = monotonic()
        if now < self._due:
            return
        self._due = now + INTERVAL
        self._shown = True
        sys.stderr.write("\r" + line(done, total, seconds=now - self._start) + "\x1b[K")
        sys.stderr.flush()

    def __enter__(self) -> Reading:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def line(done: int, total: int, *, seconds: float) -> str:
    """A bar, the share, the rate and how long the rest will take."""
    share = done / total if total else 0.0
    filled = int(WIDTH * share)
    rest = seconds / share - seconds if share else 0.0
    rate = f"{done / seconds / MB:,.0f} MB/s" if total > MB and seconds else ""
    bar = "#" * filled + "." * (WIDTH - filled)
    return f"reading [{bar}] {share:.0%} {rate}, {rest:,.0f} s left".replace(" ,", ",")
