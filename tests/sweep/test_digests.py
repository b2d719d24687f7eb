"""A model or an engine that a file tells is part of the cell: another file, another cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvtui.cli.build import source_of
from kvtui.sweep.advice import answer
from kvtui.sweep.cell import Cell, run_cell
from kvtui.sweep.grid import expand
from kvtui.sweep.html import page
from kvtui.timing.coefficients import calibration_text, engines
from tests.cli.run import kvtui

CONFIG: dict[str, Any] = {
    "model_type": "llama",
    "num_hidden_layers": 16,
    "hidden_size": 2048,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 8192,
    "vocab_size": 128256,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "slow.json").write_text(calibration_text(engines()["vllm"], {}))
    return tmp_path


def cell_of(folder: Path, **axes: Any) -> Cell:
    fixed = {"trace": "burst", "trace_sha256": source_of("burst").sha256, "gpu": "a10g", "limit": 20}
    told = {"model": (str(folder / "config.json"),), "engine": (str(folder / "slow.json"),)}
    (cell,) = expand(fixed, told | axes)
    return cell


def change(folder: Path, name: str) -> None:
    text = {
        "config.json": json.dumps(CONFIG | {"num_key_value_heads": 4}),
        "slow.json": calibration_text(engines()["trtllm"], {}),
        "model.safetensors.index.json": json.dumps({"metadata": {"total_size": 3_000_000_000}}),
        "hf_quant_config.json": json.dumps({"quantization": {"quant_algo": "FP8"}}),
    }
    (folder / name).write_text(text[name])


FILES = ("config.json", "slow.json", "model.safetensors.index.json", "hf_quant_config.json")


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_another_cell(folder: Path, name: str) -> None:
    before = cell_of(folder)
    assert cell_of(folder).key == before.key
    change(folder, name)
    assert cell_of(folder).key != before.key


@pytest.mark.parametrize("name", FILES)
def test_a_worker_with_another_file_refuses(folder: Path, name: str) -> None:
    cell = cell_of(folder)
    assert run_cell(cell)["status"] == "done"
    change(folder, name)
    result = run_cell(cell)
    assert result["status"] == "refused"
    assert "is another file here" in result["reason"]
    assert run_cell(cell_of(folder))["status"] == "done"


def test_the_folder_of_a_config_is_digested_as_well(folder: Path) -> None:
    before = cell_of(folder, model=(str(folder),))
    change(folder, "config.json")
    assert cell_of(folder, model=(str(folder),)).key != before.key


def test_names_of_the_catalogue_have_no_digest(folder: Path) -> None:
    cell = cell_of(folder, model=("llama-3.1-8b",), engine=("vllm",))
    assert (cell.model_sha256, cell.engine_sha256) == (None, None)
    assert "sha256" not in page(answer([(cell, run_cell(cell))])).replace("trace sha256", "")
    told = cell_of(folder)
    assert told.model_sha256 in page(answer([(told, run_cell(told))]))


def test_a_ledger_gives_no_figures_of_an_older_file(folder: Path) -> None:
    command = ("sweep", "burst", "--limit", "20", "--jobs", "1", "--gpu", "a10g", "--json")
    files = ("--model", str(folder / "config.json"), "--ledger", str(folder / "l.jsonl"))
    first = json.loads(kvtui(*command, *files).stdout)["cells"][0]
    change(folder, "config.json")
    again = kvtui(*command, *files)
    assert "in the ledger" not in again.stderr
    assert json.loads(again.stdout)["cells"][0]["pool_tokens"] > first["pool_tokens"]
