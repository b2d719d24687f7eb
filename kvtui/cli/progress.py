"""A progress line on standard error, where that is a terminal and the work is long enough to notice."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType

DELAY = 0.5  # seconds before it appears
INTERVAL = 0.1
WIDTH = 30  # of the bar
MB = 1_000_000


class Progress:
    """`show` and `bytes` are cheap: they look at the clock and seldom write. The line is gone at the end."""

    CALLS = 256  # of the engine between two looks at the clock: each is short whatever it does

    def __init__(self, what: str = "", total: int = 0) -> None:
        self._what = what
        self._total = total
        self._start = monotonic()
        self._due = self._start + DELAY if sys.stderr.isatty() else float("inf")
        self._shown = False

    def show(self, name: str, done: int, *, unit: str = "requests") -> None:
        """So many requests of a lane are done, or whatever else is counted."""
        left = self._left(done, self._total)
        self._write(name, done, self._total, f"{done:,} of {self._total:,} {unit}{left}")

    def bytes(self, done: int, total: int) -> None:
        """So much of a file is read; the line goes when it is."""
        taken = monotonic() - self._start
        rate = done / MB / taken if taken else 0.0
        text = f"{done / MB:,.0f} of {total / MB:,.0f} MB, {rate:,.0f} MB/s{self._left(done, total)}"
        self._write(self._what, done, total, text)
        if done >= total:
            self.clear()

    def _left(self, done: int, total: int) -> str:
        """How long it takes from here on at the rate so far, if that can be told."""
        return f", {(monotonic() - self._start) * (total - done) / done:,.0f} s left" if done else ""

    def _write(self, name: str, done: int, total: int, text: str) -> None:
        now = monotonic()
        if now < self._due:
            return
        self._due = now + INTERVAL
        self._shown = True
        filled = WIDTH * done // max(total, 1)
        sys.stderr.write(f"\r{name:<12.12} [{'#' * filled}{'.' * (WIDTH - filled)}] {text}\x1b[K")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away, so that something can be printed; the next `show` brings it back."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._due = 0.0

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
