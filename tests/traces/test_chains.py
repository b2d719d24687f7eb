"""Prefix identity against its definition, written down row by row."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.traces.chains import BlockIds, chained
from kvtui.traces.info import hit_rate_ceiling
from kvtui.traces.workload import Workload

quick = settings(max_examples=60, deadline=None)
Rows = list[list[int]]
FEW_BLOCKS = st.lists(st.lists(st.integers(0, 3), max_size=6), max_size=12)


def named(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    ids = BlockIds()
    ids.add(rows)
    flat, start = ids.in_order(np.arange(len(rows)))
    return chained(flat, start), start


@quick
@given(FEW_BLOCKS)
def test_equal_ids_stand_for_equal_prefixes(rows: Rows) -> None:
    chain, start = named(rows)
    prefixes = [tuple(row[: place + 1]) for row in rows for place in range(len(row))]
    assert len(chain) == start[-1] == len(prefixes)
    assert (
        len(set(zip(chain.tolist(), prefixes, strict=True))) == len(set(prefixes)) == len(set(chain.tolist()))
    )


@quick
@given(FEW_BLOCKS, st.integers(1, 4), st.lists(st.integers(0, 3), min_size=12, max_size=12))
def test_ceiling_is_that_of_a_cache_without_limit(rows: Rows, unit: int, tails: list[int]) -> None:
    chain, start = named(rows)
    length = np.diff(start)
    prompt = np.array([max(len(row) * unit - tail % unit, 0) for row, tail in zip(rows, tails, strict=False)])
    workload = Workload(
        name="",
        format="",
        arrival_ns=np.arange(len(rows)),
        prompt=prompt.astype(np.int64),
        output=np.ones(len(rows), np.int64),
        line=np.zeros(len(rows), np.int64),
        unit=unit,
        chain=chain,
        chain_start=start,
        identified=length * unit,
    )
    seen: set[tuple[int, ...]] = set()
    hits = 0
    for row, tokens in zip(rows, prompt.tolist(), strict=True):
        prefixes = [tuple(row[: place + 1]) for place in range(len(row))]
        hits += min(sum(prefix in seen for prefix in prefixes) * unit, tokens)
        seen.update(prefixes)
    total = int(prompt.sum())
    assert hit_rate_ceiling(workload) == (hits / total if total else None)


@quick
@given(FEW_BLOCKS, st.randoms(use_true_random=False))
def test_rows_keep_their_ids_in_any_order(rows: Rows, random: object) -> None:
    order = list(range(len(rows)))
    random.shuffle(order)  # type: ignore[attr-defined]
    ids = BlockIds()
    for row in rows:
        ids.add([row])
    if not rows:
        return
    flat, start = ids.in_order(np.array(order, np.int64))
    assert [part.tolist() for part in np.split(flat, start[1:-1])] == [rows[place] for place in order]
