"""`--record` and `kvtui replay` in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from kvtui.recording import Recording
from tests.cli.run import KVTUI, complaint, kvtui
from tests.recording.films import filmed

RUN = ("classify", "--limit", "30", "--blocks", "400", "--headless")


def test_a_replay_says_what_the_run_said(tmp_path: Path) -> None:
    path = str(tmp_path / "run.kvtui")
    run = kvtui(*RUN, "--json", "--record", path)
    assert run.returncode == 0, run.stderr
    assert run.stdout == kvtui(*RUN, "--json").stdout, "recording changes nothing"
    replay = kvtui("replay", path, "--headless", "--json")
    assert replay.stdout == run.stdout
    assert kvtui("replay", path, "--headless").stdout == kvtui(*RUN).stdout
    piped = kvtui("replay", path)
    assert piped.returncode == 0
    assert "no full screen here" in piped.stderr
    assert piped.stdout == kvtui(*RUN).stdout


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    path.write_text("precious")
    said = complaint(*RUN, "--record", str(path))
    assert "not overwritten" in said
    assert "--force" in said
    assert path.read_text() == "precious"
    assert kvtui(*RUN, "--record", str(path), "--force").returncode == 0
    assert len(Recording(path).tracks) == 2


def test_mistakes_get_a_sentence(tmp_path: Path) -> None:
    assert "cannot be opened" in complaint("replay", str(tmp_path / "none"), "--headless")
    assert "--record" in complaint(*RUN, "--force")
    assert "--headless" in complaint("replay", str(filmed()), "--json")
    odd = tmp_path / "odd"
    odd.write_text("timestamp,prompt,output\n0,3,4\n")
    assert "not a recording" in complaint("replay", str(odd), "--headless")
    whole = bytearray(filmed().read_bytes())
    whole[len(whole) // 2] ^= 0xFF
    odd.write_bytes(whole)
    assert "damaged at byte" in complaint("replay", str(odd), "--headless")


def test_a_killed_run_can_be_replayed(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    command = [*KVTUI, "chat", "--headless", "--record", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        for _ in range(1000):
            if path.exists() and path.stat().st_size > 100_000:
                break
            time.sleep(0.02)
        os.kill(run.pid, signal.SIGKILL)
    steps = Recording(path).tracks[0]
    assert len(steps) > 100
    report = json.loads(kvtui("replay", str(path), "--headless", "--json").stdout)
    assert report["lanes"][0]["steps"] == steps.piece(len(steps) - 1).step
    assert "ends before the run did" in kvtui("replay", str(path), "--headless").stdout
