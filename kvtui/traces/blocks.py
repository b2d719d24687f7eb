"""How many tokens a block of a trace holds, and prefix identity from its block ids."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kvtui.errors import TraceError
from kvtui.traces.chains import BlockIds, Chains, chained
from kvtui.traces.columns import Columns
from kvtui.traces.leftout import rows
from kvtui.traces.workload import Ints

_POWERS = (16, 32, 64, 128, 256, 512, 1024, 8, 4, 2, 1)  # the likelier first
MOST = 2**20  # tokens a block
_EVIDENCE = 3  # rows with several ids, before an odd size is believed
_TOLERATED = 10  # of a hundred rows with ids may not fit a size


def is_block_size(value: object) -> bool:
    """Whether a value can be the tokens of a block."""
    return type(value) is int and 1 <= value <= MOST


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that have ids: prompt tokens and number of ids."""

    prompt: Ints
    count: Ints

    def surplus(self, size: int) -> Ints:
        """Rows with more ids than their prompt has blocks of `size`, the partial last one included."""
        return np.flatnonzero(self.count > -(-self.prompt // size))

    def misfits(self, size: int) -> int:
        """Rows whose ids are neither one for each block nor one for each whole block."""
        return len(self.surplus(size)) + int((self.count < self.prompt // size).sum())

    def infer(self, usual: int) -> int:
        """The likeliest size, 0 if no size will do.

        A size fits a row when prompt/(ids + 1) < size < prompt/(ids - 1): a partial last block may have an id
        or not. The usual size comes first, then powers of two, best those by which partial blocks have one.
        """
        lowest = int((self.prompt // (self.count + 1)).max()) + 1
        several = self.count > 1
        highest = int(((self.prompt - 1) // np.maximum(self.count - 1, 1))[several].min(initial=2**31))
        all_named = int((-(-self.prompt // self.count)).max())
        fits = [size for size in _POWERS if lowest <= size <= highest]
        if lowest <= usual <= highest:
            return usual
        if fits:
            return next((size for size in fits if size >= all_named), fits[0])
        if several.sum() >= _EVIDENCE and lowest <= all_named <= min(highest, max(_POWERS)):
            return all_named
        return self._tolerate(usual)

    def _tolerate(self, usual: int) -> int:
        """A size that fits all but a few rows, or the usual one where ids name only part of the prompts."""
        few = len(self.count) * _TOLERATED // 100
        best = next((size for size in (usual, *_POWERS) if self.misfits(size) <= few), 0)
        return best or (usual if len(self.surplus(usual)) <= few else 0)


def identify(
    columns: Columns, block_ids: BlockIds, *, usual: int, given: int | None = None
) -> tuple[Chains | None, list[str]]:
    """Prefix identity from the block ids that go with `columns`, and what was assumed to get it.

    `given` is a size from the user or the file; without it the size is inferred, `usual` being what the
    format has by custom. Raises TraceError naming the first row that has more ids than fit the given size.
    """
    ids, start = block_ids.in_order(columns.order)
    count = np.diff(start)
    having = np.flatnonzero(count)
    if not len(having):
        return None, []
    named = _Rows(columns.prompt[having], count[having])
    size = given or named.infer(usual)
    if not size:
        return None, [_unusable(columns, int(having[named.surplus(usual)[0]]), count=count)]
    surplus = having[named.surplus(size)]
    if given and len(surplus):
        raise _does_not_fit(columns, int(surplus[0]), count=count, size=size, better=named.infer(usual))
    said = [f"block ids stand for {size} tokens each, {_why(size, usual=usual, given=given)}"]
    if len(surplus):
        said.append(f"block ids of {rows(len(surplus))} not used: more than the prompt has blocks")
        ids = ids[~np.isin(np.repeat(np.arange(len(count)), count), surplus)]
        count[surplus] = 0
    start = np.concatenate(([0], np.cumsum(count)))
    return Chains(size, chained(ids, start), start, np.minimum(columns.prompt, count * size)), said


def _why(size: int, *, usual: int, given: int | None) -> str:
    if given:
        return "as given"
    return "as usual in this format" if size == usual else "inferred from the lengths of prompts"


def _unusable(columns: Columns, row: int, *, count: Ints) -> str:
    example = f"line {columns.line[row]} has {rows(int(count[row]), 'id')} for {columns.prompt[row]:,} tokens"
    return f"block ids not used: no block size fits all rows ({example}); give one with --trace-block-size"


def _does_not_fit(columns: Columns, row: int, *, count: Ints, size: int, better: int) -> TraceError:
    needed = int(-(-columns.prompt[row] // size))
    hint = f"blocks of {better} tokens would fit the file" if better else "check how the trace was recorded"
    return columns.source.error(
        f"{columns.prompt[row]:,} prompt tokens need {rows(needed, 'block')} of {size}, "
        f"but the row has {count[row]:,} block ids.",
        line=int(columns.line[row]),
        hint=hint,
    )
