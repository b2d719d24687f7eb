"""What starting costs: memory at most and modules loaded, with limits that leave room."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROBE = """
import json, sys
from pathlib import Path
from kvtui.__main__ import main
sys.argv = ["kvtui", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmHWM"].split()[0]) * 1024
print(json.dumps([peak, len(sys.modules)]), file=sys.stderr)
"""
HEADLESS = ("run", "chat", "--headless", "--json", "--limit", "50")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")
@pytest.mark.parametrize(
    ("arguments", "megabytes", "modules"), [(("--version",), 30, 150), (HEADLESS, 90, 700)]
)
def test_starting_is_cheap(arguments: tuple[str, ...], megabytes: int, modules: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True
    )
    peak, loaded = json.loads(done.stderr.splitlines()[-1])
    assert peak < megabytes * 1_000_000
    assert loaded < modules
