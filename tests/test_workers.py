"""Nobody works on for a parent that was killed, however its workers were made."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.packaging.source import ROOT


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_every_kind_end_with_their_parent(context: str) -> None:
    code = (
        "import time; from concurrent.futures import ProcessPoolExecutor as Pool;"
        "from multiprocessing import get_context; from kvtui.workers import end_with_the_parent;"
        f"pool = Pool(3, mp_context=get_context({context!r}), initializer=end_with_the_parent);"
        "print([pool.submit(abs, n).result() for n in (1, 2, 3)], flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    assert parent.stdout is not None
    assert parent.stdout.readline() == b"[1, 2, 3]\n"
    parent.send_signal(signal.SIGKILL)
    assert parent.communicate(timeout=60) == (b"", None), "the pipe is closed when all have gone"
