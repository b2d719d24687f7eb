"""Arrival times: from whatever the trace counts in to nanoseconds after the first arrival."""

from __future__ import annotations

import numpy as np

from kvtui.traces.dates import dates
from kvtui.traces.fields import Numbers, Values, as_field, numbers
from kvtui.traces.source import Source
from kvtui.traces.timeunits import YEAR_NS
from kvtui.traces.workload import Ints

_FEW = 64  # values to look at before reading all of a column


class Clock:
    """Reads a column of times piece by piece; the first readable values decide between numbers and dates."""

    def __init__(self) -> None:
        self.dated: bool | None = None  # None until a value could be read
        self.zoned = False  # whether any date so far had a zone

    def read(self, values: Values) -> Numbers:
        """Whole units, or seconds where the times are dates."""
        if self.dated is None:
            self.dated = _are_dates(values)
        if not self.dated:
            return numbers(values)
        found, zoned = dates(as_field(values))
        self.zoned |= zoned
        return found


def _are_dates(values: Values) -> bool | None:
    for start in range(0, len(values), _FEW):
        few = as_field(values).take(np.arange(start, min(start + _FEW, len(values))))
        if numbers(few).ok.any():
            return False
        if dates(few)[0].ok.any():
            return True
    return None


def check_gaps(whole: Ints, line: Ints, *, unit: int, source: Source) -> None:
    """Refuse arrivals that jump by more than a year, or go on for a hundred: two clocks in one column."""
    order = np.argsort(whole, kind="stable")
    gaps = np.diff(whole[order].astype(np.float64)) * unit
    if gaps.max(initial=0.0) <= YEAR_NS and gaps.sum() <= 100 * YEAR_NS:
        return
    raise source.error(
        f"this arrival comes {gaps.max() / YEAR_NS:,.0f} years after the one before it.",
        line=int(line[order[gaps.argmax() + 1]]),
        hint="times from 1970 and times from the start of a run cannot be mixed: use one clock for all rows",
    )
