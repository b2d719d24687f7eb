"""Drafts, windows and hybrid models: the decisions of the real vLLM scheduler, and of the plain simulator."""

from __future__ import annotations

import pytest

from kvtui.decisions.recorded import decide
from kvtui.serving.rules import DRAFTING
from tests.shared import needs_shared
from tests.vllm.compare import difference
from tests.vllm.more_cases import CASES, read
from tests.vllm.more_worlds import KINDS, more_world
from tests.vllm.simulator import simulated, within_reach
from tests.vllm.worlds import world

SEEDS = range(30)


@pytest.mark.parametrize("name", CASES)
def test_recorded_case(name: str) -> None:
    world, recorded = read(name)
    assert difference(recorded, decide(*world, vllm="0.32")) is None


@needs_shared
@pytest.mark.parametrize("release", DRAFTING)
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_random_worlds(kind: str, asynchronous: bool, release: str) -> None:
    preempted = 0
    for seed in SEEDS:
        world = within_reach(more_world(seed, kind, asynchronous=asynchronous), release)
        world[0]["max_steps"] = 100
        theirs = list(simulated(world, release))
        assert difference(theirs, decide(*world, vllm=release)) is None, f"seed {seed}"
        preempted += sum(len(line.get("preempted", ())) for line in theirs)
    assert preempted > 20, "the worlds are too easy"


TWO_WIDTHS = {  # worlds with layers of two widths and a drafter, and what is seldom met without
    "ends of prompts within blocks of several hashes": (38, 162, 268, 411, 505, 642, 758, 902, 1031, 1133),
    "windows proven from the start on, between ends of wide blocks": (76, 115),
}


@needs_shared
@pytest.mark.parametrize("release", DRAFTING)
@pytest.mark.parametrize("what", TWO_WIDTHS)
def test_worlds_of_two_widths(what: str, release: str) -> None:
    for seed in TWO_WIDTHS[what]:
        world = within_reach(more_world(seed, "both"), release)
        world[0]["max_steps"] = 100
        assert difference(simulated(world, release), decide(*world, vllm=release)) is None, f"seed {seed}"


@needs_shared
def test_asynchronous_worlds_without_drafts() -> None:
    """One block table and no drafts: the manager of the fast lanes under the explicit scheduler."""
    for release in DRAFTING:
        for seed in SEEDS:
            made = within_reach(world(seed, asynchronous=True), release)
            made[0]["max_num_scheduled_tokens"] = None
            made[0]["max_steps"] = 100
            theirs = simulated(made, release)
            assert difference(theirs, decide(*made, vllm=release)) is None, f"{release}, seed {seed}"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_one_group_of_full_attention_is_the_plain_lane(asynchronous: bool) -> None:
    """Whatever manager and scheduler serve it, and whether private blocks have keys or not."""
    for seed in SEEDS:
        config, lines = world(seed, asynchronous=asynchronous)
        config["max_steps"] = 100
        told = list(decide(config | {"layers": ["full"]}, lines))
        for line in told:
            line.pop("groups", None)
            line.pop("tables", None)
            for field in ("blocks", "new_blocks"):
                line[field] = {id: value for id, (value,) in line.get(field, {}).items()}
        plain = [{"blocks": {}, "new_blocks": {}} | line for line in decide(config, lines)]
        assert difference(plain, told) is None, f"seed {seed}"
