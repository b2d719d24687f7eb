"""BurstGPT: CSV with seconds, in its later files with sessions."""

from __future__ import annotations

import numpy as np

from kvtui.traces.chains import Chains
from kvtui.traces.columns import Columns
from kvtui.traces.draft import Draft, Names, Options
from kvtui.traces.fields import Field
from kvtui.traces.loader import Sample
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.workload import Ints, Workload

name = "burstgpt"
title = "BurstGPT CSV"

UNIT = 16  # tokens a unit of prefix identity; the trace itself knows tokens only
_TIME, _PROMPT, _OUTPUT, _SESSION = "Timestamp", "Request tokens", "Response tokens", "Session ID"
_NEEDED = (_TIME, _PROMPT, _OUTPUT)


def matches(sample: Sample) -> bool:
    """Two of the three columns are enough to know the format, and to name the one that is missing."""
    return sample.tabular and sum(sample.has(column) for column in _NEEDED) >= 2


def read(source: Source, sample: Sample, options: Options) -> Workload:
    table = Table(source)
    if missing := [column for column in _NEEDED if column not in table.columns]:
        raise source.error(
            f"a BurstGPT file without the column '{missing[0]}'.",
            line=1,
            hint=f"the columns are: {', '.join(table.columns)}",
        )
    draft = Draft(source, options, Names(*_NEEDED))
    sessions = _Sessions()
    for piece in table.pieces():
        fields = piece.fields
        kept = draft.add(piece.line, time=fields[_TIME], prompt=fields[_PROMPT], output=fields[_OUTPUT])
        if _SESSION in fields:
            sessions.add(fields[_SESSION].take(kept))
        if draft.full:
            break
    columns = draft.finish()
    if not sessions.known:
        return columns.workload("burstgpt")
    said = f"turns of a session share their history as long as it only grows, in units of {UNIT} tokens"
    return columns.workload("burstgpt-sessions", chains=sessions.chains(columns), assumed=[said])


class _Sessions:
    """The session of each row, as small numbers; rows without one have -1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._parts: list[Ints] = []

    def add(self, names: Field) -> None:
        part = np.full(len(names), -1, np.int64)
        named = np.flatnonzero(names.stop > names.start)
        numbers = self._numbers
        part[named] = [numbers.setdefault(name, len(numbers)) for name in names.take(named).texts()]
        self._parts.append(part)

    @property
    def known(self) -> bool:
        return bool(self._numbers)

    def chains(self, columns: Columns) -> Chains:
        """Prefix identity: a turn continues the one before where its prompt can hold that one and its answer.

        Otherwise the history was cut or edited, and a new identity starts. Only whole units count, for what a
        partial one goes on with may differ. A turn that neither continues nor is continued shares nothing and
        is given no units.
        """
        session = np.concatenate(self._parts)[columns.order]
        turns = np.argsort(session, kind="stable")  # session by session, each in order of arrival
        turns = turns[session[turns] >= 0]
        history = (columns.prompt + columns.output)[turns]
        continues = np.zeros(len(turns) + 1, np.bool_)
        same = session[turns][1:] == session[turns][:-1]
        continues[1:-1] = same & (columns.prompt[turns][1:] >= history[:-1])
        units = np.where(continues[:-1] | continues[1:], history // UNIT, 0)
        # An identity's last turn is its longest: ids are given out in blocks of that size.
        last = ~continues[1:]
        identity = np.cumsum(~continues[:-1]) - 1
        base = np.cumsum(units[last]) - units[last]
        count, first = np.zeros_like(session), np.zeros_like(session)
        count[turns], first[turns] = units, base[identity]
        start = np.concatenate(([0], np.cumsum(count)))
        ids = np.repeat(first - start[:-1], count) + np.arange(start[-1])
        return Chains(UNIT, ids, start, count * UNIT)
