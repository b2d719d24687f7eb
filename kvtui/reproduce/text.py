"""Entries as a table, plain or in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from textwrap import wrap

from kvtui.reproduce.entry import SENTENCE, Entry

HEAD = ("figure", "paper", "ours", "deviation", "allowed", "")
WIDTHS = (46, 12, 10, 11, 9, 0)
VERDICTS = {True: "pass", False: "FAIL", None: "reported"}


def row(entry: Entry) -> tuple[str, ...]:
    """The cells of one entry."""
    unit = " pp" if entry.unit == "pp" else "%"
    deviation, allowed = entry.deviation, entry.tolerance
    paper = _number(entry.paper)
    if entry.low is not None and entry.high is not None:
        paper = f"{_number(entry.low)}-{_number(entry.high)}"
    verdict = "not here" if entry.ours is None else VERDICTS[entry.passed]
    return (
        entry.id,
        paper,
        _number(entry.ours),
        "" if deviation is None else f"{deviation:+.2f}{unit}",
        "" if allowed is None else "exact" if not allowed else f"{allowed:.3g}{unit}",
        verdict,
    )


def heading() -> str:
    """The first line of the plain table."""
    return _line(HEAD)


def lines(entries: Sequence[Entry]) -> list[str]:
    """The plain rows of a figure. What is approximated, or why nothing is judged, stands below the rows it is
    said of; at the end what is said of all."""
    said = [entry.note.split(SENTENCE) for entry in entries]
    common = [sentence for sentence in said[0] if all(sentence in notes for notes in said)] if said else []
    own = [[sentence for sentence in notes if sentence not in common] for notes in said]
    told = []
    for sentences, group in groupby(zip(own, entries, strict=True), key=lambda pair: pair[0]):
        told += [_line(row(entry)) for _, entry in group]
        told += _note(sentences)
    return told + _note(common)


def _note(sentences: Sequence[str]) -> list[str]:
    return [f"    {part}" for part in wrap(SENTENCE.join(sentences), 96)]


def markdown(entries: Sequence[Entry]) -> str:
    """A Markdown table with all that is known of each entry."""
    head = ("figure", "paper", "ours", "deviation", "allowed", "result", "seeds", "source", "note")
    rows = [(*row(e), ", ".join(map(str, e.seeds)), e.source, e.note) for e in entries]
    table = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |" for cells in table)


def tally(entries: Sequence[Entry]) -> str:
    """How many passed, in a sentence, and which did not."""
    judged = [entry for entry in entries if entry.passed is not None]
    failed = [entry for entry in judged if not entry.passed]
    rest = len(entries) - len(judged)
    passed = len(judged) - len(failed)
    lines = [f"{passed} of {len(judged)} judged figures within what is allowed, {rest} reported only."]
    return "\n".join([*lines, *(["Not within:"] if failed else []), *(_line(row(e)) for e in failed)])


def _line(cells: Sequence[str]) -> str:
    first, *rest = cells
    padded = [f"{cell:>{width}}" for cell, width in zip(rest, WIDTHS[1:], strict=True)]
    return f"{first:<{WIDTHS[0]}}{''.join(padded[:-1])}  {padded[-1]}".rstrip()


def _number(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
