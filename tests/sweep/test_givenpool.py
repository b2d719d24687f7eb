"""A measured pool in place of the estimate, for sweeps in which it can be that of every cell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kvtui.errors import ConfigError
from kvtui.sweep.advice import answer
from kvtui.sweep.cell import Cell, run_cell
from kvtui.sweep.givenpool import with_given_pool
from kvtui.sweep.html import ESTIMATED, page
from kvtui.sweep.table import table
from tests.cli.run import complaint
from tests.sweep.test_sweep import burst


@pytest.fixture
def log(tmp_path: Path) -> str:
    path = tmp_path / "server.log"
    path.write_text("INFO 11-30 gpu_executor.py] # GPU blocks: 1001, # CPU blocks: 2048\n")
    return str(path)


def pool_of(cell: Cell) -> int:
    result = run_cell(cell)
    assert result["status"] == "done", result
    assert result["pool_error"] is None
    return int(result["pool_tokens"])


@pytest.mark.parametrize("kind", ["auto", "fp8", "int4_per_token_head"])
def test_every_cell_has_the_blocks_that_were_given(kind: str) -> None:
    cells = [burst(kv_dtype=kind, max_num_seqs=seqs, limit=3) for seqs in (8, 16)]
    assert [pool_of(cell) for cell in with_given_pool(cells, blocks=1001)] == [16_016, 16_016]


@pytest.mark.parametrize("kind", ["auto", "fp8"])
def test_a_log_counts_the_null_block_in_and_says_the_bytes_for_other_block_sizes(kind: str, log: str) -> None:
    cells = [burst(kv_dtype=kind, block_size=size, limit=3) for size in (16, 32)]
    assert [pool_of(cell) for cell in with_given_pool(cells, log=log)] == [16_000, 16_000]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"gpu": "a10g"}, {"gpu": "l4"}),
        ({"tp": 1}, {"tp": 2}),
        ({"kv_dtype": "auto"}, {"kv_dtype": "fp8"}),
        ({"utilization": 0.9}, {"utilization": 0.8}),
        ({"block_size": 16}, {"block_size": 32}),
    ],
)
def test_no_pool_is_that_of_cells_with_other_memory(one: dict[str, Any], other: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"varies {next(iter(one))}"):
        with_given_pool([burst(**one), burst(**other)], blocks=100)


def test_a_given_pool_is_said_to_be_no_estimate(log: str) -> None:
    (cell,) = with_given_pool([burst(limit=3)], log=log)
    found = answer([(cell, run_cell(cell))])
    assert "pool: as the log server.log says" in table(found)
    assert "KV memory told by" in page(found)
    assert ESTIMATED not in page(found)
    estimated = burst(limit=3)
    assert ESTIMATED in page(answer([(estimated, run_cell(estimated))]))


def test_the_command_refuses_both_and_what_is_no_pool(log: str) -> None:
    command = ("sweep", "burst", "--limit", "2")
    assert "both say how large" in complaint(*command, "--blocks", "9", "--from-log", log)
    assert "this sweep varies gpu" in complaint(*command, "--gpu", "l4,a10g", "--from-log", log)
