"""Drafts by a rate of acceptance: how many are right, what it saves, what it costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.errors import ConfigError
from kvtui.frames.counters import CounterReader
from kvtui.memory.contiguous import RESERVE, ContiguousMemoryManager
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.groups import groups_of
from kvtui.serving.engine import Engine
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules, release
from kvtui.serving.speculation import METHODS, AcceptanceRate
from kvtui.timing.roofline import LinearCost
from tests.serving.build import workload
from tests.serving.digest import Price

RULES = Rules(1000, spec_method="eagle", num_speculative_tokens=3)


def engine_of(rules: Rules, *, blocks: int = 40, layers: tuple[str, ...] = ("full",)) -> Engine:
    manager = GroupedMemoryManager(blocks * 16, 16, rules, layers=layers)
    return Engine(workload([(0, 40, 33), (0, 20, 9), (0.5, 30, 1)]), rules, manager, LinearCost())


def mean_accepted(rates: tuple[float, ...], drafts: int) -> float:
    rate, total = AcceptanceRate(rates), 0
    for number in range(40):
        request = Request(number, 10, 1000)
        for request.verifies in range(100):
            total += rate.accepted(request, drafts)
    return total / 4000


def test_accepted_drafts_follow_the_rate() -> None:
    assert mean_accepted((0.0,), 3) == 0
    assert mean_accepted((1.0,), 3) == 3
    assert mean_accepted((0.7,), 3) == pytest.approx(0.7 + 0.49 + 0.343, abs=0.06)
    assert mean_accepted((0.9, 0.5, 0.1), 5) == pytest.approx(0.9 + 0.45 + 0.045 + 0.005, abs=0.06)


def test_the_same_drafts_are_right_whatever_the_schedule() -> None:
    def verified(**options: object) -> tuple[int, int]:
        engine = engine_of(replace(RULES, **options))
        engine.run()
        return engine.scheduler.spec.num_drafts, engine.scheduler.spec.num_accepted_tokens

    assert verified() == verified(max_num_batched_tokens=300) == verified(max_num_seqs=2)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_right_drafts_save_steps(method: str, asynchronous: bool) -> None:
    steps = {}
    for rate in (0.0, 1.0):
        rules = replace(RULES, spec_method=method, async_scheduling=asynchronous, acceptance=(rate,))
        engine = engine_of(rules)
        engine.run()
        assert engine.results.finished == 3
        assert engine.output_tokens == 33 + 9 + 1
        counters = engine.scheduler.spec
        assert counters.num_accepted_tokens == rate * counters.num_draft_tokens
        steps[rate] = engine.scheduler.step
    assert steps[1.0] < steps[0.0] / 2


def test_wrong_drafts_cost_time_and_blocks() -> None:
    plain, drafting = engine_of(Rules(1000)), engine_of(replace(RULES, acceptance=(0.0,)))
    for engine in (plain, drafting):
        engine.cost = Price()
        engine.run()
    assert drafting.meter.time > plain.meter.time
    assert drafting.meter.held / drafting.meter.time > plain.meter.held / plain.meter.time


@pytest.mark.parametrize("reserve", RESERVE)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_contiguous_lanes_can_draft_too(reserve: str, asynchronous: bool) -> None:
    rules = replace(RULES, max_model_len=100, async_scheduling=asynchronous)
    manager = ContiguousMemoryManager(1000, 100, 1, reserve=reserve)
    engine = Engine(workload([(0, 40, 33), (0, 20, 9), (0.5, 30, 1)]), rules, manager, LinearCost())
    engine.run()
    assert engine.results.finished == 3
    assert engine.scheduler.preemptions == 0


def test_a_window_bounds_what_a_request_holds() -> None:
    rules = Rules(4000, max_num_batched_tokens=64)
    engine = Engine(
        workload([(0, 900, 300)]),
        rules,
        GroupedMemoryManager(16 * 200, 16, rules, layers=("sliding:64", "full")),
        LinearCost(),
    )
    held = []
    while engine.step():
        held += [r.blocks_held for r in engine.scheduler.running.values()]
        split = CounterReader(engine).read().split
        assert min(split) >= 0
        assert sum(split) == pytest.approx(100)
    full = -(-1199 // 16)
    assert full < max(held) <= full + 64 // 16 + 1
    assert engine.manager.need(Request(0, 900, 300)) == full + (63 + 64 + 15) // 16 + 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"spec_method": "medusa"}, "no drafter 'medusa'"),
        ({"spec_method": "ngram", "num_speculative_tokens": 0}, "0 speculative tokens"),
        ({"acceptance": (1.5,)}, "acceptance"),
        ({"acceptance": ()}, "acceptance"),
    ],
)
def test_what_is_no_drafter_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        Rules(1000, **options)


def test_other_releases_are_not_known() -> None:
    with pytest.raises(ConfigError, match=r"vLLM 0\.28"):
        Rules(1000, spec_method="ngram", release=release("0.28"))


@pytest.mark.parametrize(
    "layer", ["half", "sliding", "sliding:0", "full:3", "full*0", "sliding:x", "mamba*2", "mamba:4"]
)
def test_what_is_no_layer_is_refused(layer: str) -> None:
    with pytest.raises(ConfigError, match="no layer"):
        groups_of([layer, "full"], 16, Rules(1000))
