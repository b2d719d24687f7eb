"""Traces from statistics: they match what was asked, and the same seed gives the same trace."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.traces.info import hit_rate_ceiling, info
from kvtui.traces.quantiles import Quantiles
from kvtui.traces.synth import UNIT, Plan, closeness, synthesise
from tests.traces.conftest import Read

PROMPT = Quantiles.parse("p50=800,p90=3000,p99=8000")
OUTPUT = Quantiles.parse("200")


def test_quantiles_are_met() -> None:
    plan = Plan(requests=20_000, rate=4)
    workload = synthesise(plan, prompt=PROMPT, output=OUTPUT)
    assert set(workload.output.tolist()) == {200}
    for _, wanted, got in closeness(workload, plan, prompt=PROMPT, output=OUTPUT):
        assert got == pytest.approx(wanted, rel=0.1)
    assert info(workload)["cv"] == pytest.approx(1, abs=0.05)


def test_length_between_quantiles_grows_evenly_in_its_logarithm() -> None:
    quantiles = Quantiles.parse("p0=100,p100=10000")
    assert [quantiles.at(share) for share in (0, 0.25, 0.5, 1)] == [100, 316, 1000, 10_000]


def test_lengths_like_those_of_a_trace_come_in_pairs(read: Read) -> None:
    like = read("prompt_tokens,output_tokens\n" + "".join(f"{n},{2 * n}\n" for n in range(10, 500)))
    workload = synthesise(Plan(requests=500), prompt=like, output=like)
    assert (workload.output == 2 * workload.prompt).all()
    assert len(set(workload.prompt.tolist())) > 200


@pytest.mark.parametrize(("burstiness", "cv"), [(0.25, 2.0), (4.0, 0.5)])
def test_bursts(burstiness: float, cv: float) -> None:
    workload = synthesise(Plan(requests=5000, rate=9, burstiness=burstiness), prompt=OUTPUT, output=OUTPUT)
    assert info(workload)["cv"] == pytest.approx(cv, rel=0.1)
    assert 5000 / workload.span_s == pytest.approx(9, rel=0.1)


def test_openings_are_shared() -> None:
    plan = Plan(requests=1000, prefix_groups=4, prefix_tokens=160)
    workload = synthesise(plan, prompt=Quantiles.parse("40"), output=OUTPUT)
    assert set(workload.prompt.tolist()) == {200}
    heads = workload.chain[workload.chain_start[:-1]]
    assert len(set(heads.tolist())) == 4
    assert hit_rate_ceiling(workload) == pytest.approx(996 * 160 / 200_000)


def test_turns_go_on_from_each_other() -> None:
    plan = Plan(requests=2000, rate=5, turns=4, think_s=3)
    workload = synthesise(plan, prompt=Quantiles.parse("100"), output=Quantiles.parse("60"))
    assert set(workload.prompt % 160) == {100}
    assert len(workload) / workload.span_s == pytest.approx(5, rel=0.25)
    assert (hit_rate_ceiling(workload) or 0) > 0.5


def test_the_seed_decides() -> None:
    plans = [Plan(requests=50, turns=2, seed=seed) for seed in (1, 1, 2)]
    first, same, other = (synthesise(plan, prompt=PROMPT, output=PROMPT) for plan in plans)
    assert (first.prompt == same.prompt).all()
    assert (first.arrival_ns == same.arrival_ns).all()
    assert (first.prompt != other.prompt).any()


@settings(max_examples=60, deadline=None)
@given(
    groups=st.integers(0, 3),
    tokens=st.integers(1, 100),
    turns=st.floats(1, 5),
    requests=st.integers(1, 40),
    seed=st.integers(0, 99),
)
def test_identity_is_sound(groups: int, tokens: int, turns: float, requests: int, seed: int) -> None:
    plan = Plan(
        requests=requests,
        turns=turns,
        prefix_groups=groups,
        prefix_tokens=tokens if groups else 0,
        seed=seed,
    )
    workload = synthesise(plan, prompt=PROMPT, output=OUTPUT)
    assert len(workload) == requests
    assert (np.diff(workload.arrival_ns) >= 0).all()
    if workload.unit:
        assert workload.chain_start[-1] == len(workload.chain)
        assert (workload.identified <= workload.prompt + workload.output).all()
        assert (workload.identified == UNIT * np.diff(workload.chain_start)).all()


@pytest.mark.parametrize(
    "text", ["", "x", "0", "-5", "p50=5,p40=6", "p50=9,p60=6", "q50=5", "p50=nan", "p200=5", "p50=inf", "5,6"]
)
def test_lengths_that_say_nothing(text: str) -> None:
    with pytest.raises(ConfigError, match="says nothing about lengths"):
        Quantiles.parse(text)


@pytest.mark.parametrize(
    "values",
    [
        {"rate": 0},
        {"burstiness": -1},
        {"turns": 0.5},
        {"prefix_groups": 3},
        {"prefix_tokens": 3},
        {"think_s": 0},
    ],
)
def test_plans_that_make_no_sense(values: dict[str, float]) -> None:
    with pytest.raises(ConfigError):
        Plan(**values)  # type: ignore[arg-type]
