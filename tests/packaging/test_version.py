"""`kvtui --version` answers at once: it loads neither the screen nor the numbers."""

from __future__ import annotations

import subprocess
import sys
import time

import kvtui
from tests.packaging.source import ROOT

HEAVY = {"textual", "rich", "numpy"}


def test_version_loads_nothing_heavy() -> None:
    start = time.perf_counter()
    answer = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kvtui", "--version"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    print(f"kvtui --version: {1000 * (time.perf_counter() - start):.0f} ms, imports timed")
    assert answer.returncode == 0, answer.stderr.splitlines()[-1]
    assert kvtui.__version__ in answer.stdout.split()
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in answer.stderr.splitlines()}
    assert "kvtui" in loaded
    assert loaded & HEAVY == set()
