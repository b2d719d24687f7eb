"""Arrivals made, scaled and cut; requests sampled, shuffled and limited."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.traces import Wanted, Workload
from kvtui.traces.info import hit_rate_ceiling, info
from kvtui.traces.options import Options
from kvtui.traces.shape import Shape, cut, shaped
from tests.traces.conftest import Read

S = 10**9
TIMED = "arrival_s,prompt_tokens,output_tokens\n0,1,9\n10,2,9\n20,3,9\n100020,4,9\n"
UNTIMED = "prompt_tokens,output_tokens\n" + "".join(f"{n},9\n" for n in range(1, 2001))


def test_a_rate_spaces_requests_evenly(read: Read) -> None:
    workload = read(UNTIMED, rate=4)
    assert workload.arrival_ns[:3].tolist() == [0, S // 4, S // 2]
    assert workload.timed
    assert workload.assumed[-1] == "arrivals made: 4 a second, evenly spaced"
    assert not any("no arrival times" in sentence for sentence in workload.assumed)


def test_recorded_arrivals_give_way_to_a_rate(read: Read) -> None:
    workload = read(TIMED, rate=1)
    assert workload.arrival_ns.tolist() == [0, S, 2 * S, 3 * S]
    assert "arrivals made in place of the recorded ones: 1 a second, evenly spaced" in workload.assumed


@pytest.mark.parametrize(("burstiness", "cv"), [(1, 1.0), (0.25, 2.0), (4, 0.5)])
def test_gaps_of_a_gamma_distribution(read: Read, burstiness: float, cv: float) -> None:
    workload = read(UNTIMED, rate=5, burstiness=burstiness, seed=3)
    figures = info(workload)
    assert figures["cv"] == pytest.approx(cv, rel=0.1)
    assert workload.span_s == pytest.approx(400, rel=0.1)
    same = read(UNTIMED, rate=5, burstiness=burstiness, seed=3)
    assert (same.arrival_ns == workload.arrival_ns).all()
    assert (read(UNTIMED, rate=5, burstiness=burstiness, seed=4).arrival_ns != workload.arrival_ns).any()


def test_poisson_gaps_are_the_same_on_every_machine(read: Read) -> None:
    workload = read(UNTIMED, rate=1, burstiness=1, limit=4)
    assert workload.arrival_ns.tolist() == [0, 314_418_615, 356_255_211, 372_920_952]


def test_a_window_of_the_trace(read: Read) -> None:
    workload = read(TIMED, start_s=10, duration_s=15)
    assert workload.prompt.tolist() == [2, 3]
    assert workload.arrival_ns.tolist() == [0, 10 * S]
    assert workload.origin_ns == 10 * S
    assert workload.assumed[-1] == "only what arrives from 10 s to 25 s, as asked: 2 requests"
    assert read(TIMED, start_s=15).prompt.tolist() == [3, 4]
    assert read(TIMED, duration_s=10).prompt.tolist() == [1]


def test_gaps_can_be_jumped_over(read: Read) -> None:
    workload = read(TIMED, max_gap_s=10)
    assert workload.arrival_ns.tolist() == [0, 10 * S, 20 * S, 30 * S]
    assert workload.assumed[-1] == "1 gap longer than 10 s jumped over: 99,990 s in all, as asked"
    assert not any("jumped" in sentence for sentence in read(TIMED, max_gap_s=10**6).assumed)


def test_requests_arrive_faster(read: Read) -> None:
    workload = read(TIMED, scale_rate=2.5)
    assert workload.arrival_ns.tolist() == [0, 4 * S, 8 * S, 40_008 * S]
    assert workload.assumed[-1] == "requests arrive 2.5 times as fast, as asked"


def test_a_sample_keeps_times(read: Read) -> None:
    workload = read(UNTIMED, rate=1, sample=0.25, seed=5)
    assert 400 < len(workload) < 600
    gaps = np.diff(workload.prompt)
    assert (np.diff(workload.arrival_ns) == gaps * S).all()
    assert workload.prompt.tolist() == read(UNTIMED, rate=1, sample=0.25, seed=5).prompt.tolist()


def test_shuffled_requests_keep_the_arrivals(read: Read) -> None:
    workload = read(UNTIMED, rate=1, shuffle_seed=1)
    assert workload.arrival_ns.tolist() == [n * S for n in range(2000)]
    assert workload.prompt.tolist() != sorted(workload.prompt)
    assert sorted(workload.prompt) == list(range(1, 2001))


def test_the_limit_counts_what_is_left(read: Read) -> None:
    assert read(TIMED, start_s=5, limit=2).prompt.tolist() == [2, 3]
    assert read(TIMED, start_s=5, skip=1, limit=1).prompt.tolist() == [3]
    assert read(TIMED, scale_rate=2, limit=2).prompt.tolist() == [1, 2]
    with pytest.raises(ConfigError, match="no request remains behind the first 3"):
        read(TIMED, start_s=5, skip=3)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rate": 0}, "the rate of a trace cannot be 0"),
        ({"rate": float("nan")}, "the rate of a trace cannot be nan"),
        ({"scale_rate": -1}, "the scale rate of a trace cannot be -1"),
        ({"sample": 1.5}, "the sample of a trace cannot be 1.5"),
        ({"start_s": -1}, "the start of a trace cannot be -1"),
        ({"duration_s": 0}, "the duration of a trace cannot be 0"),
        ({"burstiness": 1}, "burstiness needs a rate"),
        ({"start_s": 200_000}, "no request arrives in this window"),
        ({"sample": 1e-9}, "the sample holds no request"),
        ({"rate": 1e-12}, "centuries"),
        ({"rate": 1e-308, "limit": 1}, "centuries"),
        *(({name: 1e300}, "cannot be 1e.300") for name in ("start_s", "duration_s", "max_gap_s", "think_s")),
        ({"scale_rate": 1e-12}, "centuries"),
    ],
)
def test_shapes_that_make_no_sense(read: Read, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read(TIMED, **options)


def workload_of(rows: list[tuple[int, int, list[int]]]) -> Workload:
    """Requests with gap (ns), prompt and chain ids of 4 tokens."""
    gaps, prompts, ids = zip(*rows, strict=True)
    return Workload(
        name="x",
        format="x",
        arrival_ns=np.cumsum(gaps) - gaps[0],
        prompt=np.array(prompts) + 4 * np.array([len(row) for row in ids]),
        output=np.ones(len(rows), np.int64),
        line=np.arange(len(rows)),
        unit=4,
        chain=np.array([value for row in ids for value in row], np.int64),
        chain_start=np.cumsum([0, *(len(row) for row in ids)]),
        identified=4 * np.array([len(row) for row in ids]),
    )


ROWS = st.lists(
    st.tuples(st.integers(0, 10**12), st.integers(0, 50), st.lists(st.integers(0, 9), max_size=4)), min_size=1
)


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, seed=st.integers(0, 9), share=st.floats(0.2, 1))
def test_every_request_keeps_what_is_its_own(
    rows: list[tuple[int, int, list[int]]], seed: int, share: float
) -> None:
    whole = workload_of(rows)
    try:
        part = shaped(whole, Shape(sample=share, shuffle_seed=seed, scale_rate=0.5, max_gap_s=100, seed=seed))
    except ConfigError:
        return
    assert (np.diff(part.arrival_ns) >= 0).all()
    for place, line in enumerate(part.line.tolist()):
        ids = part.chain[part.chain_start[place] : part.chain_start[place + 1]].tolist()
        assert ids == rows[line][2]
        assert part.prompt[place] == whole.prompt[line]
        assert part.identified[place] == whole.identified[line]


def test_nothing_asked_is_nothing_done(read: Read) -> None:
    workload = read(TIMED)
    assert shaped(workload, Shape()) is workload
    assert cut(workload, skip=0, limit=4) is workload
    assert hit_rate_ceiling(workload) is None


def test_every_wish_is_heard() -> None:
    heard = {field.name for kind in (Options, Shape) for field in fields(kind)}
    assert set(Wanted.__annotations__) == heard
