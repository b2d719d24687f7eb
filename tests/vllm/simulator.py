"""The plain simulators: the reference, which lies beside the oracle, and that of `plain/`, which can more."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from tests.serving.worlds import World
from tests.shared import SHARED
from tests.vllm.compare import Decisions

FULL_NAME = {"0.20": "0.20.2"}


def reference_simulator() -> ModuleType:
    """A copy of its own for every caller, which may replace parts of it."""
    path = SHARED / "vllm-decisions" / "reference_simulator.py"
    spec = importlib.util.spec_from_file_location("reference_simulator", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def within_reach(world: World, release: str) -> World:
    """The same world without what the simulators do not do: writing the free queue, a budget above the
    batch's, or where a release has no budget of its own, any."""
    config, lines = world
    config = {name: value for name, value in config.items() if name != "record_free_queue"}
    budget = config.pop("max_num_scheduled_tokens", None)
    if budget and release not in ("0.12", "0.16"):
        config["max_num_scheduled_tokens"] = min(budget, config["max_num_batched_tokens"])
    return config, lines


def simulated(world: World, release: str) -> Decisions:
    """What the plain simulators decide by the rules of a release."""
    if release == "0.33" or {"spec_method", "layers"} & set(world[0]):
        from tests.vllm.plain.simulator import Sim

        return Sim(*world, newer=release == "0.33").run()
    like = FULL_NAME.get(release, f"{release}.0")
    decisions: Decisions = reference_simulator().Sim(*world, like).run()
    return decisions
