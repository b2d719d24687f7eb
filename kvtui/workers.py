"""Processes that work for another one."""

from __future__ import annotations

import os
from multiprocessing import parent_process
from threading import Thread


def end_with_the_parent() -> None:
    """To be called first in a worker: one whose parent was killed would wait for its next job for ever."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, daemon=True).start()
