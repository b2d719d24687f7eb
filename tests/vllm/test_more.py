"""Recordings of drafts and windows: the real scheduler still does the same, the plain simulator does too."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.shared import needs_shared
from tests.vllm.compare import difference
from tests.vllm.more_cases import CASES, PLAIN, read
from tests.vllm.real import MORE_ORACLE, RealScheduler, release_of, why_not

REASON = why_not()


@pytest.fixture(scope="module")
def real() -> Iterator[RealScheduler]:
    """One vLLM process for all cases: it is slow to start."""
    with RealScheduler(MORE_ORACLE) as scheduler:
        yield scheduler


@pytest.mark.parametrize("name", CASES)
def test_recordings_are_of_these_cases(name: str) -> None:
    world, decisions = read(name)
    assert list(world) == json.loads(json.dumps(CASES[name]))
    assert decisions


@needs_shared
@pytest.mark.parametrize("name", PLAIN)
def test_plain_simulator(name: str) -> None:
    from tests.vllm.plain.simulator import Sim

    world, decisions = read(name)
    assert difference(decisions, Sim(*world).run()) is None


@pytest.mark.vllm
@pytest.mark.skipif(REASON is not None, reason=str(REASON))
@pytest.mark.parametrize("name", CASES)
def test_real_scheduler(real: RealScheduler, name: str) -> None:
    world, decisions = read(name)
    if release_of(real.version) != "0.32":
        pytest.skip(f"the recordings are of vLLM 0.32, this is {real.version}")
    assert difference(real.record(*world), decisions) is None
