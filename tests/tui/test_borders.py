"""Drawing needs no widget and no terminal, and asking about the terminal needs neither."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.tui.pty_run import ROOT

_PROBE = """
import importlib, pkgutil, sys
for name in {names!r}:
    module = importlib.import_module(name)
    for each in pkgutil.iter_modules(getattr(module, "__path__", []), name + "."):
        if name != "kvtui.tui":
            importlib.import_module(each.name)
print(" ".join(sorted({{name.split(".")[0] for name in sys.modules}})))
"""


def loaded(*names: str) -> set[str]:
    code = _PROBE.format(names=names)
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return set(result.stdout.split())


@pytest.mark.parametrize("name", ["kvtui.tui.view", "kvtui.comparison.player"])
def test_frames_become_text_without_textual_and_rich(name: str) -> None:
    assert not loaded(name) & {"textual", "rich", "click"}


def test_asking_about_the_terminal_loads_nothing_heavy() -> None:
    assert not loaded("kvtui.tui", "kvtui.tui.terminal") & {"textual", "rich", "numpy", "asyncio"}


def test_a_simulation_is_seen_without_what_servers_recordings_and_exports_need() -> None:
    code = "import sys, kvtui.tui.app; print(*(name for name in sys.modules if name.startswith('kvtui.')))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    packages = {name.split(".")[1] for name in result.stdout.split()}
    assert "tui" in packages
    assert not packages & {"live", "recording", "exports", "answers", "backends", "reproduce", "sweep"}
