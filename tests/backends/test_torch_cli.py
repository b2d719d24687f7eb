"""Real tensors from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.backends.tensors import torch
from tests.cli.run import complaint, kvtui

pytestmark = pytest.mark.torch

ONE_THREAD = {"OMP_NUM_THREADS": "1"}


@pytest.fixture
def trace(tmp_path: Path) -> str:
    path = tmp_path / "six.csv"
    rows = [(40, 8), (70, 6), (64, 5), (90, 4), (20, 12), (33, 7)]
    path.write_text("prompt_tokens,output_tokens\n" + "".join(f"{p},{o}\n" for p, o in rows))
    return str(path)


def test_headless_json_says_who_measured(trace: str, tmp_path: Path) -> None:
    table = tmp_path / "times.csv"
    done = kvtui(
        *("run", trace, "--headless", "--json", "--backend", "torch", "--device", "cpu", "--blocks", "30"),
        *("--model", "tinyllama-1.1b", "--max-len", "128", "--verify", "1", "--kv-layers", "2"),
        *("--lane", "contiguous", "--lane", "paged", "--lane", "paged:backend=simulated"),
        *("--steptimes", str(table)),
        **ONE_THREAD,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    contiguous, paged, simulated = report["lanes"]
    assert report["config"]["time"] == "simulated and measured"
    for lane in (contiguous, paged):
        assert lane["backend"]["device"] == "cpu"
        assert lane["backend"]["kv_layers"] == 2
        assert lane["backend"]["verify"]["checked"] > 20
        assert lane["backend"]["verify"]["failed"] == 0
    assert contiguous["backend"]["allocated_bytes"] == paged["backend"]["allocated_bytes"] > 0
    assert contiguous["batch"]["peak"] < paged["batch"]["peak"]
    assert simulated["backend"] == {"name": "simulated", "device": None, "verify": None}
    assert simulated["name"] == "paged-16"
    assert "step times written" in done.stderr
    assert done.stderr.index("the catalogue has no CPU") < done.stderr.index("step times written")
    assert len(table.read_text().splitlines()) > 3
    written = paged["backend"]["steptimes"]
    assert (written["file"], written["whole_steps"]) == (str(table), False)
    assert [note in done.stderr for note in written["notes"]] == [True, True]
    assert written["notes"][0].endswith("--gemm --kv-layers 22")


def test_options_of_a_device_need_one(trace: str) -> None:
    assert "--backend torch" in complaint("run", trace, "--headless", "--verify", "5")


def test_a_device_that_is_not_there_is_one_sentence(trace: str) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is one")
    assert "CUDA" in complaint("run", trace, "--headless", "--backend", "torch", "--device", "cuda")


def test_a_recording_keeps_the_measured_seconds(trace: str, tmp_path: Path) -> None:
    film = tmp_path / "measured.kvtui"
    options = ("--backend", "torch", "--device", "cpu", "--blocks", "30", "--model", "tinyllama-1.1b")
    done = kvtui(
        "run",
        trace,
        "--headless",
        "--json",
        "--max-len",
        "128",
        "--record",
        str(film),
        *options,
        **ONE_THREAD,
    )
    assert done.returncode == 0, done.stderr
    from kvtui.recording import Recording

    report = json.loads(done.stdout)
    tracks = Recording(film).tracks
    for lane, track in zip(report["lanes"], tracks, strict=True):
        last = track.piece(len(track) - 1)
        assert last.now_ps / 1e12 == pytest.approx(lane["time_s"], abs=1e-6)
        assert track.info.label == "measured"
