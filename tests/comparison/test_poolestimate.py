"""What the size of a run's pool is worth, wherever it is told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.poolestimate import pool_report
from kvtui.hardware.catalogue import gpu, model
from kvtui.hardware.measuredpools import told
from kvtui.traces import load
from kvtui.traces.synthetic import path_of
from tests.cli.run import kvtui

BURST = load(str(path_of("burst")), limit=5)
FIVE = ("burst", "--limit", "5")


def report(id: str = "llama-3.1-8b", card: str = "h100-sxm", **options: Any) -> dict[str, Any]:
    return pool_report(Experiment(BURST, model(id), gpu(card), **options))


def test_a_pool_that_others_measured_is_within_five_per_cent() -> None:
    found = report()
    assert (found["label"], found["upper_bound"], found["left_out"]) == ("derived", False, [])
    assert found["error"]["this_gpu"]
    assert told(found).startswith("an estimate, off by 1.2 % at most on ")


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"card": "a10g"}, "GiB more on another GPU"),
        ({"id": "mixtral-8x7b", "tp": 2}, "buffers of the experts"),
        ({"id": "gemma-3-12b"}, "buffers of the vision encoder"),
        ({"spec_method": "draft_model"}, "the drafter"),
    ],
)
def test_what_may_be_missing_makes_it_an_upper_bound(options: dict[str, Any], part: str) -> None:
    found = report(**options)
    assert found["upper_bound"]
    assert part in told(found)


def test_a_pool_that_is_known_is_no_estimate() -> None:
    assert report(slots=1600)["label"] == "given"
    known = report(slots=1600, pool_from="the log x")
    assert (known["label"], known["by"], known["error"]) == ("reported", "the log x", None)


def test_states_that_are_counted_are_not_left_out() -> None:
    assert "states of the linear-attention layers" not in report("qwen3.5-35b-a3b", "h200")["left_out"]


@pytest.mark.parametrize(
    "command",
    [
        ("run", *FIVE, "--headless"),
        ("advise", *FIVE),
        ("block-sizes", *FIVE),
        ("hits", "agent", "--limit", "20"),
        ("sweep", *FIVE, "--gpu", "a10g"),
    ],
    ids=lambda command: command[0],
)
def test_every_answer_says_it(command: tuple[str, ...], tmp_path: Path) -> None:
    """In words and as JSON, the same; and nothing of the kind where the pool is given."""
    words = told(report(card="a10g"))
    assert words in " ".join(kvtui(*command).stdout.split())
    answer = json.loads(kvtui(*command, "--json").stdout)
    where = {"run": lambda: answer["config"], "sweep": lambda: answer["cells"][0]}
    assert told(where.get(command[0], lambda: answer)()["pool"]) == words
    log = tmp_path / "vllm.log"
    log.write_text("# GPU blocks: 1001, # CPU blocks: 0\n")
    assert "an estimate" not in kvtui(*command, "--from-log", str(log)).stdout
