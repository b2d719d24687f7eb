"""Which rows of the queues are seen: those that a filter lets through, from a row on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from kvtui.frames.frame import RunningRow, WaitingRow

Row = TypeVar("Row", WaitingRow, RunningRow)
STATES: Final = ("waiting", "preempted", "running", "prompt", "answer")
_ID: Final = re.compile(r"r?(\d+)(?:-r?(\d+))?")


@dataclass(frozen=True)
class Listing:
    """`text` is the filter as it was typed: words that all have to fit a row; `first`: rows scrolled by."""

    text: str = ""
    first: int = 0

    @property
    def plain(self) -> bool:
        """Whether the queues are shown as they are, from their beginning."""
        return not self.text and not self.first

    def matching(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Those rows that fit, in their order."""
        words = self.text.split()
        return [row for row in rows if all(_fits(word, row) for word in words)] if words else rows

    def window(self, count: int, room: int, *, known: int) -> tuple[int, int]:
        """The first of `count` rows to show and how many, if `room` rows are there and the first `known` are
        known; where not all are shown, a row is left for saying so."""
        if count <= min(room, known):
            return 0, count
        shown = max(0, min(room - 1, known))
        return min(self.first, known - shown), shown

    def scrolled(self, by: int, counts: Iterable[int], room: int) -> Listing:
        """`by` rows further, as far as the longest of the lists goes."""
        last = max((count - room + 1 for count in counts if count > room), default=0)
        return replace(self, first=max(0, min(last, self.first + by)))


ALL: Final = Listing()


def problem(text: str) -> str | None:
    """What is wrong with a filter, in a sentence; None if nothing is."""
    for word in text.lower().split():
        if not _ID.fullmatch(word) and not _states(word):
            return f"'{word}' is no request (12, 10-19) and no state ({', '.join(STATES)})"
    return None


def _fits(word: str, row: WaitingRow | RunningRow) -> bool:
    """A number fits all requests that begin with it, a range those within it."""
    word = word.lower()
    if found := _ID.fullmatch(word):
        first, last = found.groups()
        return int(first) <= row.request <= int(last) if last else str(row.request).startswith(first)
    return bool(_states(word) & _states_of(row))


def _states(word: str) -> set[str]:
    """The states that a word means; its beginning is enough."""
    return {state for state in STATES if state.startswith(word)}


def _states_of(row: WaitingRow | RunningRow) -> set[str]:
    if isinstance(row, WaitingRow):
        return {"waiting", "preempted"} if row.preempted else {"waiting"}
    return {"running", "prompt" if row.computed < row.prompt else "answer"}
