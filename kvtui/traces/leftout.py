"""Rows that are not replayed: counted by reason, and told in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvtui.traces.workload import Ints, LeftOut

NO_TOKENS, NO_PROMPT, NO_OUTPUT = "no tokens", "no prompt", "no output"
FAILED = (NO_TOKENS, NO_PROMPT, NO_OUTPUT)  # the request failed or was aborted
NOT_AN_OBJECT = "not a JSON object"
_LINES = 3  # line numbers worth showing


class Tally:
    """Counts rows by reason and keeps the first line numbers."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._lines: dict[str, list[int]] = {}
        self._sound = set(FAILED)

    def expect(self, reasons: Iterable[str]) -> None:
        """Rows left out for these reasons are none that cannot be read."""
        self._sound.update(reasons)

    def add(self, reason: str, line: Ints) -> None:
        if not len(line):
            return
        self._counts[reason] = self._counts.get(reason, 0) + len(line)
        lines = self._lines.setdefault(reason, [])
        lines.extend(line[: _LINES - len(lines)].tolist())

    @property
    def bad(self) -> int:
        """Rows that could not be read, failed and unwanted requests not among them."""
        return sum(count for reason, count in self._counts.items() if reason not in self._sound)

    def result(self, *, bad: bool = False) -> tuple[LeftOut, ...]:
        """Failed requests first, then other rows; with `bad` only those that could not be read."""
        first = {reason: place for place, reason in enumerate(FAILED)}
        wanted = (reason for reason in self._counts if not bad or reason not in self._sound)
        reasons = sorted(wanted, key=lambda reason: (first.get(reason, len(FAILED)), reason))
        return tuple(LeftOut(reason, self._counts[reason], tuple(self._lines[reason])) for reason in reasons)


def told(left_out: Sequence[LeftOut]) -> list[str]:
    """One sentence about all failed requests and one about each kind of bad row."""
    failed = [group for group in left_out if group.reason in FAILED]
    sentences = []
    if failed:
        kinds = ", ".join(f"{group.count:,} with {group.reason}" for group in failed)
        sentences.append(f"{rows(sum(group.count for group in failed), 'failed row')} left out ({kinds})")
    sentences += [
        f"{rows(group.count)} left out: {group.reason} ({_lines(group)})"
        for group in left_out
        if group.reason not in FAILED
    ]
    return sentences


def rows(count: int, noun: str = "row") -> str:
    """A count and its noun: "1 row", "1,200 rows"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _lines(group: LeftOut) -> str:
    numbers = ", ".join(map(str, group.lines))
    if not group.lines:
        return "in several files"
    more = ", ..." if group.count > len(group.lines) else ""
    return f"line {numbers}" if group.count == 1 else f"lines {numbers}{more}"
