"""Bundled workloads: the files are what the recipes give, and each has the property it is there for."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import accumulate
from pathlib import Path
from random import Random
from statistics import fmean, median

import numpy as np
import pytest

from kvtui.errors import ConfigError
from kvtui.traces.synthetic import Lengths, bundled, generate, path_of, recipe

NAMES = ["article", "chat", "code", "classify", "shared-prefix", "agent", "documents", "burst"]


def test_all_eight_are_there_and_small() -> None:
    assert bundled() == NAMES
    assert all(path_of(name).stat().st_size < 300_000 for name in NAMES)


def test_regenerating_gives_the_committed_bytes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kvtui.traces.synthetic", str(tmp_path)]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    for name in NAMES:
        assert (tmp_path / f"{name}.jsonl").read_bytes() == path_of(name).read_bytes(), name


@pytest.mark.parametrize("name", NAMES)
def test_requests_are_in_order_and_within_the_maximum(name: str) -> None:
    workload = generate(recipe(name))
    assert workload.arrival_ns[0] == 0
    assert np.all(np.diff(workload.arrival_ns) >= 0)
    assert np.all(workload.prompt >= 1)
    assert np.all(workload.output >= 1)
    assert workload.max_len is not None
    assert np.all(workload.prompt + workload.output <= workload.max_len)
    assert np.all(workload.identified <= workload.prompt + workload.output)
    assert len(workload) >= 100


@pytest.mark.parametrize("name", ["shared-prefix", "agent", "documents"])
def test_equal_ids_stand_for_equal_prefixes(name: str) -> None:
    workload = generate(recipe(name))
    before: dict[int, tuple[int, int]] = {}  # id -> (the id before it, its place)
    for start, end in zip(workload.chain_start, workload.chain_start[1:], strict=False):
        chain = workload.chain[start:end].tolist()
        for place, (last, this) in enumerate(zip([-1, *chain], chain, strict=False)):
            assert before.setdefault(this, (last, place)) == (last, place)
    assert np.mean(workload.shared_units > 0) > 0.9


def test_agents_quote_what_was_generated() -> None:
    workload = generate(recipe("agent"))
    assert np.sum(workload.identified > workload.prompt) > len(workload) / 2
    shared = workload.shared_units * workload.unit
    assert np.sum(shared > workload.prompt) > len(workload) / 2, "shared prefixes reach into outputs"


def test_every_classification_fills_the_maximum() -> None:
    workload = generate(recipe("classify"))
    assert set((workload.prompt + workload.output).tolist()) == {workload.max_len}


def test_bursts_come_at_the_end_of_each_half_minute() -> None:
    at = generate(recipe("burst")).arrival_ns / 1e9 % 30
    assert np.mean(at >= 26) > 0.7


def test_the_static_experiment_of_the_article() -> None:
    """Whole sequences placed until one does not fit: 19 contiguous ones; paged 37 in the median of seeds."""
    made = recipe("article")
    counts = []
    for seed in range(300):
        workload = generate(made, seed=seed)
        blocks = -(-(workload.prompt + workload.output) // 16)
        counts.append(sum(used <= 10_000 // 16 for used in accumulate(blocks.tolist())))
    assert made.slots is not None
    assert made.slots // made.max_len == 19
    assert median(counts) == 37
    assert 27 <= min(counts) < max(counts) <= 55


def test_lengths_have_the_mean_they_are_asked_for() -> None:
    random = Random(1)
    drawn = [Lengths(1, 100_000, mean=300, cv=0.8).draw(random) for _ in range(20_000)]
    assert fmean(drawn) == pytest.approx(300, rel=0.03)
    assert {Lengths(3, 5).draw(random) for _ in range(100)} == {3, 4, 5}


def test_another_seed_is_another_workload() -> None:
    one, other = generate(recipe("chat")), generate(recipe("chat"), seed=8)
    assert one.sha256 == generate(recipe("chat")).sha256 != other.sha256


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(ConfigError) as error:
        path_of("agents")
    assert (error.value.hint or "").startswith("did you mean agent")


def test_the_header_says_what_it_is_for() -> None:
    header = json.loads(path_of("article").read_text().splitlines()[0])
    assert (header["kvtui_workload"], header["max_len"], header["slots"]) == (1, 512, 10_000)
