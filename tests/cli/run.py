"""The command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

KVTUI = [sys.executable, "-m", "kvtui"]


def kvtui(
    *args: str, stdin: bytes = b"", cwd: Path | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    """Run it without a terminal; text in and out."""
    done = subprocess.run(
        [*KVTUI, *args],
        input=stdin,
        capture_output=True,
        cwd=cwd,
        env=os.environ | env,
        timeout=60,
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def complaint(*args: str, **options: object) -> str:
    """What it says about a mistake: exit code 2, nothing on standard output, no traceback."""
    done = kvtui(*args, **options)  # type: ignore[arg-type]
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("kvtui: ")
    assert len(done.stderr.splitlines()) <= 3
    return done.stderr
