"""One published figure beside ours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

DIGITS = 4
SENTENCE = ". "  # between the sentences of a note


@dataclass(frozen=True, slots=True)
class Entry:
    """`paper` and `ours` are of one unit. The deviation is their difference in percentage points where
    `unit` is "pp", else relative in per cent; with `exact` any deviation fails.

    `tolerance` None = reported, not judged. `ours` None = not reproduced; `note` says why. `low` and `high`
    give a published range in place of a value: within it the deviation is 0.
    """

    id: str
    paper: float | None
    ours: float | None
    tolerance: float | None = None
    unit: str = "%"
    low: float | None = None
    high: float | None = None
    seeds: tuple[int, ...] = ()
    source: str = ""
    note: str = ""

    @property
    def deviation(self) -> float | None:
        if self.ours is None:
            return None
        target = self.paper
        if self.low is not None and self.high is not None:
            target = min(max(self.ours, self.low), self.high)
        if target is None:
            return None
        difference = self.ours - target
        return difference if self.unit == "pp" or not target else 100 * difference / target

    @property
    def passed(self) -> bool | None:
        """None where nothing is judged."""
        deviation = self.deviation
        if deviation is None or self.tolerance is None:
            return None
        return abs(deviation) <= self.tolerance + 1e-9

    def data(self) -> dict[str, Any]:
        """As `--json` prints it."""
        values: dict[str, Any] = {
            "id": self.id,
            "paper": self.paper,
            "ours": _round(self.ours),
            "deviation": _round(self.deviation),
            "tolerance": self.tolerance,
            "pass": self.passed,
            "unit": "pp" if self.unit == "pp" else "%",
        }
        if self.low is not None:
            values["paper_range"] = [self.low, self.high]
        return values | {"seeds": list(self.seeds), "source": self.source, "note": self.note}


def missing(id: str, paper: float | None, *, source: str, note: str) -> Entry:
    """A figure that is not reproduced, and why."""
    return Entry(id, paper, None, source=source, note=note)


def named(prefix: str, entries: list[Entry], *, source: str = "", note: str = "") -> list[Entry]:
    """The entries of one figure, with what they have in common."""
    return [
        replace(e, id=f"{prefix}.{e.id}", source=e.source or source, note=_joined(e.note, note))
        for e in entries
    ]


def _joined(*notes: str) -> str:
    return SENTENCE.join(note.rstrip(".") for note in notes if note)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
