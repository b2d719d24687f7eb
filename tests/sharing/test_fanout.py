"""Several sequences as several requests: each with its prompt, those of one request with the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from kvtui.groups.fanout import UNIT, fanned_out, widths
from tests.serving.build import workload

PLAIN = workload([(0, 20, 5), (1, 3 * UNIT, 6)])


@pytest.mark.parametrize(
    ("samples", "beams", "width"),
    [([2, 3], None, [2, 3]), (None, [4, 0], [4, 1]), ([2, 3], [1, 5], [2, 5]), ([0, 1], None, [1, 1])],
)
def test_every_sequence_is_a_request(
    samples: list[int] | None, beams: list[int] | None, width: list[int]
) -> None:
    columns = {"samples": samples, "beams": beams}
    load = replace(PLAIN, **{name: column and np.array(column) for name, column in columns.items()})
    assert widths(load).tolist() == width
    alone = fanned_out(load)
    assert alone.samples is alone.beams is None
    rows = np.repeat([0, 1], width)
    for name in ("arrival_ns", "prompt", "output"):
        assert getattr(alone, name).tolist() == getattr(PLAIN, name)[rows].tolist()


def test_those_of_one_request_have_one_prompt_and_no_other_has() -> None:
    alone = fanned_out(replace(PLAIN, samples=np.array([2, 2])))
    starts = alone.chain_start
    chains = [alone.chain[a:b].tolist() for a, b in pairwise(starts)]
    assert alone.unit == UNIT
    assert list(map(len, chains)) == [2, 2, 3, 3]
    assert chains[0] == chains[1]
    assert chains[2] == chains[3]
    assert not set(chains[0]) & set(chains[2])
    assert alone.identified.tolist() == [20, 20, 3 * UNIT, 3 * UNIT]


def test_who_has_one_sequence_stays_as_it_is() -> None:
    assert fanned_out(PLAIN) is PLAIN
