"""kvtui takes the decisions that the real schedulers of seven releases took, wherever these were recorded."""

from __future__ import annotations

import pytest

from kvtui.decisions.recorded import decide, read_case
from kvtui.serving.rules import RELEASES
from tests.shared import SHARED, needs_shared
from tests.vllm.real import release_of
from tests.vllm.recorded import REFUSED, Store, digest, world_of

WORLDS = 15  # of a kind that are tried here; the campaign tries them all
STORES = {release: Store(release) for release in RELEASES}
RANDOM = [(release, kind) for release, store in STORES.items() for kind in store.random]


def test_the_real_scheduler_of_every_release_was_asked() -> None:
    for release, store in STORES.items():
        assert release_of(store.version) == release


@needs_shared
@pytest.mark.parametrize("release", RELEASES)
def test_shared_cases(release: str) -> None:
    kept = STORES[release].shared
    assert len(kept) == 6
    for case, recorded in kept.items():
        folder = SHARED / "vllm-decisions" / case
        decisions = decide(*read_case(folder / "config.json", folder / "trace.jsonl"), vllm=release)
        assert digest(decisions) == recorded, case


@pytest.mark.parametrize(("release", "kind"), RANDOM)
def test_random_worlds(release: str, kind: str) -> None:
    kept = STORES[release].random[kind]
    assert len(kept) >= 50
    seeds = range(0, len(kept), len(kept) // WORLDS)
    taken = [seed for seed in seeds if kept[seed] != REFUSED]
    assert taken
    for seed in taken:
        assert digest(decide(*world_of(kind, seed), vllm=release)) == kept[seed], f"seed {seed}"
