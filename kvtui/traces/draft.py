"""Rows on their way to a workload: which are used and which left out, their order, their clock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from kvtui.traces.clock import Clock
from kvtui.traces.columns import Columns
from kvtui.traces.fields import Bools, Numbers, Values, numbers
from kvtui.traces.kept import Kept
from kvtui.traces.leftout import NO_OUTPUT, NO_PROMPT, NO_TOKENS, NOT_AN_OBJECT, Tally, rows, told
from kvtui.traces.notes import note_on_prompts, note_on_unit, note_on_zone, notes_on_time
from kvtui.traces.options import MOST_TOKENS, Names, Options
from kvtui.traces.source import Source
from kvtui.traces.timeunits import S, unit_of
from kvtui.traces.workload import Ints

NO_TIMES = "no arrival times: all requests arrive at time 0 (--rate spaces them)"


class Draft:
    """Takes rows piece by piece, keeps the usable ones and counts the others."""

    def __init__(self, source: Source, options: Options, names: Names) -> None:
        self._source, self._options, self._names = source, options, names
        self._clock = Clock()
        self._tally = Tally()
        self._to_skip = options.skip
        self._seen = 0
        self._kept = Kept()

    @property
    def full(self) -> bool:
        """Whether the limit is reached, so that further rows would not be kept."""
        return len(self._kept) == self._options.limit

    @property
    def zoned(self) -> bool:
        """Whether any time so far was a date with a zone."""
        return self._clock.zoned

    def add(
        self,
        line: Ints,
        *,
        time: Values | None,
        prompt: Values,
        output: Values,
        broken: Bools | None = None,
        unwanted: Mapping[str, Bools] | None = None,
    ) -> Ints:
        """Read some rows; returns the places of those kept.

        `broken` rows are known to be bad; `unwanted` ones are sound, but for the reasons given no requests
        that reached an engine.
        """
        counts = numbers(prompt), numbers(output)
        times = self._clock.read(time) if time is not None else _nowhere(len(line))
        self._tally.expect(unwanted or ())
        reasons = dict(unwanted or {}) | self._reasons(times, *counts, broken=broken)
        why = np.select(list(reasons.values()), list(range(1, len(reasons) + 1)), 0)
        kept, looked_at = self._window(np.flatnonzero(why == 0), len(line))
        for code, reason in enumerate(reasons, 1):
            self._tally.add(reason, line[looked_at][why[looked_at] == code])
        self._seen += looked_at.stop - looked_at.start
        self._kept.add(times, prompt=counts[0].whole, output=counts[1].whole, line=line, rows=kept)
        return kept

    def _reasons(
        self, times: Numbers, prompt: Numbers, output: Numbers, *, broken: Bools | None
    ) -> dict[str, Bools]:
        """Why rows cannot be used; the first that applies counts, bad rows before failed requests."""
        names = self._names
        reasons = {} if broken is None else {NOT_AN_OBJECT: broken}
        reasons |= {
            f"no readable {names.time}": ~times.ok,
            f"no whole number of tokens in {names.prompt}": ~_is_count(prompt),
            f"no whole number of tokens in {names.output}": ~_is_count(output),
        }
        if not self._options.keep_failed:
            empty, silent = prompt.whole == 0, output.whole == 0
            reasons |= {NO_TOKENS: empty & silent, NO_PROMPT: empty, NO_OUTPUT: silent}
        return reasons

    def _window(self, usable: Ints, count: int) -> tuple[Ints, slice]:
        """The `usable` rows between skip and limit, and the stretch of the `count` rows they lie in."""
        skipped = usable[: self._to_skip]
        self._to_skip -= len(skipped)
        if self._to_skip:
            return usable[:0], slice(count, count)
        kept = usable[len(skipped) :]
        first = int(skipped[-1]) + 1 if len(skipped) else 0
        if self._options.limit is None or len(self._kept) + len(kept) < self._options.limit:
            return kept, slice(first, count)
        kept = kept[: self._options.limit - len(self._kept)]
        return kept, slice(first, int(kept[-1]) + 1 if len(kept) else first)

    def finish(self, *, unit: int = S, sure: bool = False) -> Columns:
        """All rows, sorted by arrival.

        `unit` is what the format usually counts time in (ns); with `sure` it never counts in anything else,
        and nothing is guessed from the size of the numbers. Raises TraceError where no request is left, where
        more than half of the rows are bad, or where the clock cannot be right.
        """
        self._check()
        if self._clock.dated:
            unit = S
        elif not sure:
            unit = self._options.unit or unit_of(self._kept.least[0], usual=unit)
        self._kept.check_clock(unit=unit, source=self._source)
        ns = self._kept.arrivals(unit=unit)
        early = int(np.count_nonzero(ns[1:] < ns[:-1]))
        order = np.argsort(ns, kind="stable") if early else None
        ns, prompt, output, line = (
            column if order is None else column[order]
            for column in (ns, *(self._kept.column(name) for name in ("prompt", "output", "line")))
        )
        said = [
            *self._said_of_time(ns, unit=unit, sure=sure, early=early),
            *(notes_on_time(ns.data, line.data) if self._names.time else ()),
            *note_on_prompts(prompt.data),
            *self._said_of_choice(prompt, output),
        ]
        return Columns(
            source=self._source,
            arrival_ns=ns,
            prompt=prompt,
            output=output,
            line=line,
            places=order,
            left_out=self._tally.result(),
            assumed=tuple(said),
            timed=self._names.time is not None,
            origin_ns=self._kept.origin(unit=unit),
        )

    def _check(self) -> None:
        left_out = self._tally.result()
        if 2 * self._tally.bad > self._seen:
            worst = max(self._tally.result(bad=True), key=lambda group: group.count)
            raise self._source.error(
                f"{self._tally.bad:,} of {self._seen:,} rows cannot be read, as here: {worst.reason}.",
                line=worst.lines[0],
                hint="more than half of the rows are bad, so the file is probably of another kind",
            )
        if len(self._kept):
            return
        if left_out:
            hint = "failed rows can be kept, as prefills that produce nothing (--keep-failed)"
            raise self._source.error(f"no request remains: {'; '.join(told(left_out))}.", hint=hint)
        if self._options.skip:
            raise self._source.error(
                f"no request remains behind the first {self._options.skip:,}.", hint="skip fewer"
            )
        raise self._source.error("there are no rows.", hint="check that the file was written whole")

    def _said_of_time(self, ns: Ints, *, unit: int, sure: bool, early: int) -> Iterator[str]:
        if self._names.time is None:
            yield NO_TIMES
        elif not self._clock.dated and not sure:
            yield note_on_unit(self._names.time, unit=unit, last_ns=int(ns.max()), requests=len(ns))
        elif self._clock.dated and not self.zoned:
            yield note_on_zone(self._names.time)
        if early:
            yield f"{rows(early)} earlier than the row before: sorted by arrival"

    def _said_of_choice(self, prompt: Ints, output: Ints) -> Iterator[str]:
        if self._options.skip:
            yield f"the first {rows(self._options.skip, 'usable row')} skipped, as asked"
        if self.full:
            yield f"nothing read behind {rows(len(self._kept), 'request')}, as asked"
        if self._options.keep_failed and (failed := int(((prompt == 0) | (output == 0)).sum())):
            yield f"{rows(failed, 'request')} without prompt or output kept"


def _nowhere(count: int) -> Numbers:
    return Numbers(np.zeros(count, np.int64), np.zeros(count, np.int64), np.ones(count, np.bool_))


def _is_count(column: Numbers) -> Bools:
    whole: Bools = column.ok & (column.nano == 0)
    return whole & (column.whole >= 0) & (column.whole <= MOST_TOKENS)
