"""Outputs and messages: nothing is lost, nothing half is left, nothing steers the terminal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from kvtui import cli
from tests.cli.run import KVTUI, complaint, kvtui

TRACE = "prompt_tokens,output_tokens\n" + "10,5\n" * 8
ROW = {"id": "a", "arrival_step": 0, "prompt_tokens": 4, "output_tokens": 2}
CONFIG = {"num_gpu_blocks": 9, "block_size": 4}


@pytest.mark.parametrize("option", ["--record", "--export"])
def test_the_trace_is_never_replaced(tmp_path: Path, option: str) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text(TRACE)
    said = complaint(str(trace), "--headless", option, f"{tmp_path}/../{tmp_path.name}/t.csv", "--force")
    assert "is what is read" in said
    assert trace.read_text() == TRACE


def test_no_file_is_written_twice(tmp_path: Path) -> None:
    out = str(tmp_path / "out.csv")
    assert "written twice" in complaint("chat", "--headless", "--record", out, "--export", out)
    assert not Path(out).exists()


@pytest.mark.parametrize(
    ("config", "trace", "says"),
    [
        ("[]", ROW, "one JSON object"),
        ("{}", ROW, "num_gpu_blocks"),
        (json.dumps(CONFIG | {"block_size": "x"}), ROW, "block_size"),
        (json.dumps(CONFIG | {"colour": 1}), ROW, "unknown option"),
        (json.dumps(CONFIG), {"prompt": 1}, "no 'arrival_step'"),
        (json.dumps(CONFIG), ROW | {"output_tokens": -1}, "no whole number"),
        (json.dumps(CONFIG), 7, "no 'id'"),
    ],
)
def test_decisions_tell_what_is_wrong_and_leave_nothing(
    tmp_path: Path, config: str, trace: object, says: str
) -> None:
    (tmp_path / "c.json").write_text(config)
    (tmp_path / "t.jsonl").write_text(json.dumps(trace))
    out = tmp_path / "out.jsonl"
    assert says in complaint("decisions", f"{tmp_path}/c.json", f"{tmp_path}/t.jsonl", "-o", str(out))
    assert not out.exists()


def test_control_characters_are_written_out(capsys: pytest.CaptureFixture[str]) -> None:
    cli._complain("the server said \x1b]0;owned\x07 and " + "x" * 5000, None)
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert "\\x1b]0;owned" in said
    assert len(said) < 1100


def test_a_recording_is_never_replaced_by_what_is_made_of_it(tmp_path: Path) -> None:
    recording = tmp_path / "run.json"
    done = kvtui("chat", "--limit", "3", "--headless", "--record", str(recording))
    assert done.returncode == 0, done
    before = recording.read_bytes()
    assert "is what is read" in complaint(
        "replay", f"{recording}", "--headless", "--export", f"{recording}", "--force"
    )
    page, old = tmp_path / "new.html", tmp_path / "old.csv"
    old.write_text("mine")
    complaint("replay", f"{recording}", "--headless", "--export", f"{page}", "--export", f"{old}")
    assert (recording.read_bytes(), page.exists(), old.read_text()) == (before, False, "mine")


def test_a_recording_for_which_there_is_no_room_is_no_success(tmp_path: Path) -> None:
    little = ["bash", "-c", 'ulimit -f 8; exec "$@"', "bash", *KVTUI]  # as if the disk were full
    done = subprocess.run(
        [*little, "chat", "--limit", "40", "--headless", "--record", f"{tmp_path / 'run.kvtui'}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "mean batch" in done.stdout) == (2, True)
    assert "kvtui: the recording ends early: " in done.stderr
