"""Prefix identity from conversations: a turn whose prompt can hold the turn before it goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kvtui.traces.chains import Chains
from kvtui.traces.columns import Columns
from kvtui.traces.workload import Ints, Workload

UNIT = 16  # tokens a unit of prefix identity; such traces themselves know tokens only
SAID = f"turns of a session share their history as long as it only grows, in units of {UNIT} tokens"


class Sessions:
    """The session of each row, as small numbers; rows without one have -1."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._parts: list[Ints] = []

    def add(self, names: Sequence[object]) -> None:
        """Take the sessions of some rows; "" and whatever is neither text nor number are none."""
        numbers = self._numbers
        known = (isinstance(name, str | int | float) and name != "" for name in names)
        pairs = zip(names, known, strict=True)
        part = [numbers.setdefault(name, len(numbers)) if is_one else -1 for name, is_one in pairs]
        self._parts.append(np.array(part, np.int64))

    @property
    def known(self) -> bool:
        return bool(self._numbers)

    def workload(
        self, columns: Columns, format: str, *, assumed: Sequence[str] = (), estimated: bool = False
    ) -> Workload:
        """The columns with identity by session, without any where no turn continues another."""
        if not self.known:
            return columns.workload(format, assumed=assumed, estimated=estimated)
        chains = self.chains(columns)
        shared = bool(len(chains.ids))
        workload = columns.workload(
            format,
            chains=chains if shared else None,
            assumed=[*assumed, SAID] if shared else assumed,
            estimated=estimated,
        )
        return self.joined(workload, columns)

    def joined(self, workload: Workload, columns: Columns) -> Workload:
        """The workload made of `columns` in another way, told which turn follows which."""
        return replace(workload, follows=self._follows(columns)) if self.known else workload

    def _follows(self, columns: Columns) -> Ints | None:
        """The turn before of each request, -1 where it is the first; None where no session has two."""
        session, turns = self._in_turn(columns)
        before = np.full(len(session), -1, np.int64)
        same = session[turns][1:] == session[turns][:-1]
        before[turns[1:][same]] = turns[:-1][same]
        return before if same.any() else None

    def _in_turn(self, columns: Columns) -> tuple[Ints, Ints]:
        """The session of each row, and the rows of all sessions, one after the other in order of arrival."""
        session = np.concatenate(self._parts)[columns.order]
        turns = np.argsort(session, kind="stable")
        return session, turns[session[turns] >= 0]

    def chains(self, columns: Columns) -> Chains:
        """Prefix identity: a turn continues the one before where its prompt can hold that one and its answer.

        Otherwise the history was cut or edited, and a new identity starts. Only whole units count, for what a
        partial one goes on with may differ. A turn that neither continues nor is continued shares nothing and
        is given no units.
        """
        session, turns = self._in_turn(columns)
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
