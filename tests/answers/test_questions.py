"""The questions of operators: which block size, and whether to adopt paging, on workloads of both kinds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from kvtui.answers import advice, blocksizes, tiers
from kvtui.cli.questions import block_sizes
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.hardware import catalogue
from kvtui.traces import load
from kvtui.traces.synthetic import path_of
from kvtui.traces.workload import Workload
from tests.cli.run import kvtui
from tests.serving.build import workload


def experiment(requests: Workload, *, slots: int | None = None) -> Experiment:
    return Experiment(requests, catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g"), slots=slots)


def bundled(name: str) -> Experiment:
    return experiment(load(str(path_of(name))))


def test_larger_blocks_waste_more_and_need_smaller_tables() -> None:
    rows = blocksizes.table(bundled("chat"), (1, 16, 256))["rows"]
    waste = [row["waste_pct"] for row in rows]
    assert waste[0] == 0
    assert waste == sorted(waste)
    assert 1 < waste[1] < 3 < 15 < waste[2]
    assert [row["table_entries"] for row in rows] == [2048, 128, 8]
    assert rows[0]["fits_mean"] >= rows[2]["fits_mean"]


def test_what_nobody_measured_of_kernels_is_unknown() -> None:
    found = blocksizes.table(bundled("classify"), (2, 16, 128))
    penalties = [row["kernel_penalty_pct"] for row in found["rows"]]
    assert penalties == [[None, None], [None, 0.0], [0.0, None]]
    assert all(known["label"] == "measured by others" and known["source"] for known in found["kernels"])
    assert "n/a" in blocksizes.text(found)


def test_fixed_lengths_make_contiguous_memory_as_good() -> None:
    alike = workload([(i * 0.05, 280, 20) for i in range(200)])
    for requests in (bundled("classify"), experiment(alike)):
        found = advice.advise(requests)
        assert found["contiguous_is_as_good"]
        assert found["verdict"].startswith("Contiguous is as good here: lengths hardly vary")
        assert found["checks"][0]["answer"] is False


@pytest.mark.parametrize("name", ["chat", "agent"])
def test_unpredictable_lengths_call_for_paging(name: str) -> None:
    found = advice.advise(bundled(name))
    assert not found["contiguous_is_as_good"]
    assert found["gains"]["max_len"]["batch"] > 2
    assert found["verdict"].startswith("Adopt paging: ")
    assert found["checks"][0]["answer"] is True
    assert found["checks"][1]["answer"] is True


def test_where_nobody_gave_the_maximum_length_the_longest_request_decides() -> None:
    """Both ratios are told: with the regions of `kvtui run`, the next power of two, and with exact ones."""
    requests = workload([(0, 800 + 50 * (i % 7), 1250) for i in range(80)])  # 2,350 tokens at most
    found = advice.advise(experiment(requests, slots=16_000))
    assert (found["max_len"], found["regions"]) == (4096, 2350)
    assert found["gains"]["max_len"]["batch"] > 1.5 * found["gains"]["regions"]["batch"]
    assert "regions of 2,350 tokens, the longest request" in found["verdict"]
    assert "4,096" in found["verdict"]
    assert "next power of two that holds the longest request, 2,350 tokens" in advice.text(found)
    given = advice.advise(replace(experiment(requests, slots=16_000), max_len=4096))
    assert given["regions"] == 4096
    assert "the longest request" not in given["verdict"]


def test_kv_types_and_prices_are_the_users() -> None:
    asked = replace(bundled("chat"), price=2.0, tp=2, lanes=(LaneSpec("paged", kv_dtype="fp8"),))
    found = advice.advise(asked)
    assert found["kv_dtype"] == "fp8"
    assert found["checks"][-1]["answer"] is None
    assert "$2 a GPU hour, given" in found["checks"][4]["said"]
    assert " on 2 x a10g, " in advice.text(found)


def test_sizes_that_vllm_takes_are_told_and_one_is_recommended() -> None:
    found = blocksizes.table(bundled("chat"), (8, 16, 256))
    text = blocksizes.text(found)
    assert "    8*" in text
    assert "   16 " in text
    assert "FA4, B200    CK, MI350" in text
    assert "Run 16: vLLM's own choice" in found["verdict"]
    assert found["verdict"].endswith(" % of what requests hold).")
    assert "waste: empty ends of blocks, the mean share of what requests hold" in text
    assert blocksizes.text(found, ascii=True).isascii()
    assert not text.isascii()


def test_with_memory_to_spare_contiguous_is_as_good() -> None:
    requests = workload([(i, 30 + 7 * i % 400, 5 + 3 * i % 90) for i in range(60)])
    found = advice.advise(experiment(requests))
    assert found["contiguous_is_as_good"]
    assert "memory is seldom the limit" in found["verdict"]


def test_fp8_holds_twice_the_tokens() -> None:
    found = advice.advise(bundled("chat"))
    pool = found["checks"][-1]["pool_tokens"]
    assert pool[1] == pytest.approx(2 * pool[0], rel=0.001)


def test_a_second_tier_finds_what_the_first_forgot() -> None:
    found = tiers.hits(bundled("documents"), host_gib=4)
    rates = [point["hit_rate"] for point in found["curve"]]
    assert rates == sorted(rates)
    assert rates[-1] == found["ceiling"]
    two = found["tiers"]
    assert 0 < two["gpu_hit_rate"] < found["ceiling"]
    assert two["gpu_hit_rate"] + two["host_hit_rate"] <= found["ceiling"]
    assert two["host_hit_rate"] > 0.05
    runs = [run["hit_rate"] for run in found["runs"]]
    assert runs == sorted(runs)
    assert runs[1] == pytest.approx(two["gpu_hit_rate"], abs=0.1)


def test_hits_need_a_trace_that_knows_its_prefixes() -> None:
    with pytest.raises(ConfigError, match="which prefixes"):
        tiers.hits(experiment(workload([(0, 10, 5)])), host_gib=1)


def test_a_log_tells_the_pool(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").write_text("# GPU blocks: 1001, # CPU blocks: 0\n")
    log = ("--limit", "20", "--from-log", str(tmp_path / "vllm.log"), "--json")
    rows = json.loads(CliRunner().invoke(block_sizes, ["burst", *log]).stdout)["rows"]
    assert [(row["block_size"], row["pool_blocks"]) for row in rows if row["block_size"] in (8, 16)] == [
        (8, 2000),
        (16, 1000),
    ]


def test_the_commands_print_json() -> None:
    advised = json.loads(kvtui("advise", "classify", "--json").stdout)
    assert advised["contiguous_is_as_good"] is True
    assert len(advised["checks"]) == 6
    sizes = json.loads(kvtui("block-sizes", "classify", "--limit", "50", "--json").stdout)
    assert [row["block_size"] for row in sizes["rows"]] == list(blocksizes.SIZES)
