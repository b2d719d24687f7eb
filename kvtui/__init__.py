"""kvtui shows why paged KV-cache memory wins, on your own traffic, in your terminal.

From Python: `load` a trace, put lanes `side_by_side`, `run` them or step them one by one::

    import kvtui

    experiment = kvtui.side_by_side("chat", ["contiguous", "paged:32"], gpu="h100-sxm")
    figures = kvtui.run(experiment)

`run_sweep` compares many settings.

`ContiguousMemoryManager` and `PagedMemoryManager` are usable on their own. What has no name here may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.comparison.experiment import Experiment
    from kvtui.comparison.lane import Lane
    from kvtui.errors import KvtuiError
    from kvtui.frames.frame import Frame
    from kvtui.library import load, run, run_sweep, side_by_side
    from kvtui.memory.contiguous import ContiguousMemoryManager
    from kvtui.memory.paged import PagedMemoryManager
    from kvtui.traces.workload import Workload

__version__ = "1.0.0"
__all__ = [
    "ContiguousMemoryManager",
    "Experiment",
    "Frame",
    "KvtuiError",
    "Lane",
    "PagedMemoryManager",
    "Workload",
    "__version__",
    "load",
    "run",
    "run_sweep",
    "side_by_side",
]

# Imported when asked for: `kvtui --version` should not pay for them.
_HOME = {
    "ContiguousMemoryManager": "kvtui.memory.contiguous",
    "Experiment": "kvtui.comparison.experiment",
    "Frame": "kvtui.frames.frame",
    "KvtuiError": "kvtui.errors",
    "Lane": "kvtui.comparison.lane",
    "PagedMemoryManager": "kvtui.memory.paged",
    "Workload": "kvtui.traces.workload",
    "load": "kvtui.library",
    "run": "kvtui.library",
    "run_sweep": "kvtui.library",
    "side_by_side": "kvtui.library",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'kvtui' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
