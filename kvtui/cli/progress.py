"""A progress line on standard error, where that is a terminal and the run is long enough to notice."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType

DELAY = 0.5  # seconds before it appears
INTERVAL = 0.1


class Progress:
    """`show()` is cheap: it looks at the clock and seldom writes. The line is gone at the end."""

    STEPS = 1 << 60  # a call of the engine is short whatever it may do

    def __init__(self, total: int) -> None:
        self._total = total
        self._due = monotonic() + DELAY if sys.stderr.isatty() else float("inf")
        self._shown = False

    def show(self, name: str, done: int) -> None:
        now = monotonic()
        if now < self._due:
            return
        self._due = now + INTERVAL
        self._shown = True
        filled = 30 * done // max(self._total, 1)
        bar = "#" * filled + "." * (30 - filled)
        sys.stderr.write(f"\r{name:<12.12} [{bar}] {done:,} of {self._total:,} requests")
        sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
