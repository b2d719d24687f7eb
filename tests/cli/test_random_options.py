"""Random combinations of options end in an answer or one sentence and lose nothing: some of the campaign."""

from __future__ import annotations

import subprocess
import sys

from tests.packaging.source import ROOT

COUNT = 40


def test_random_options() -> None:
    asked = ["--count", str(COUNT), "--seed", "0"]
    campaign = [sys.executable, "-m", "tests.cli.option_campaign", *asked]
    done = subprocess.run(campaign, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"0 of {COUNT} wrong"), done.stdout
