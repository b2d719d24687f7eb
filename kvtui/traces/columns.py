"""Usable rows as sorted columns: the last step before a workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kvtui.traces.chains import Chains
from kvtui.traces.source import Source
from kvtui.traces.workload import Ints, LeftOut, Workload

_MOST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Columns:
    """Usable rows in order of arrival; `places` are theirs among the rows kept, None where it is the same."""

    source: Source
    arrival_ns: Ints
    prompt: Ints
    output: Ints
    line: Ints
    places: Ints | None
    left_out: tuple[LeftOut, ...]
    assumed: tuple[str, ...]
    timed: bool = True
    origin_ns: int = 0

    @property
    def order(self) -> Ints:
        """The places of these rows among the rows that `Draft.add` kept."""
        return np.arange(len(self.line)) if self.places is None else self.places

    def urgency(self, priority: Sequence[object]) -> Ints | None:
        """Whole numbers, 0 where there is none; None where all are."""
        known = [value if type(value) is int and abs(value) <= _MOST else 0 for value in priority]
        return np.array(known, np.int64)[self.order] if any(known) else None

    def workload(
        self,
        format: str,
        *,
        name: str = "",
        chains: Chains | None = None,
        assumed: Sequence[str] = (),
        estimated: bool = False,
        priority: Sequence[object] = (),
    ) -> Workload:
        """Join the columns with prefix identity and with the `priority` of each row kept, if there is any."""
        plain = Workload(
            name=name or self.source.name,
            format=format,
            arrival_ns=self.arrival_ns,
            prompt=self.prompt,
            output=self.output,
            line=self.line,
            left_out=self.left_out,
            assumed=(*self.assumed, *assumed),
            sha256=self.source.sha256,
            priority=self.urgency(priority),
            timed=self.timed,
            origin_ns=self.origin_ns,
            estimated=estimated,
        )
        if chains is None:
            return plain
        return replace(
            plain,
            unit=chains.unit,
            chain=chains.ids,
            chain_start=chains.start,
            identified=chains.identified,
        )
