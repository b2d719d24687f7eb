"""What starting costs: memory at most and modules loaded, with limits that leave room."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import is_dataclass
from importlib import import_module
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
print(json.dumps([peak, sorted(sys.modules)]), file=sys.stderr)
"""
HEADLESS = "--headless", "--json"
needs_status = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell")


def started(*arguments: str) -> tuple[int, list[str]]:
    """Bytes of memory at most, and the modules loaded at the end."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True
    )
    peak, loaded = json.loads(done.stderr.splitlines()[-1])
    return peak, loaded


@needs_status
@pytest.mark.parametrize(
    ("arguments", "megabytes", "modules"),
    [(("--version",), 20, 100), (("run", "chat", *HEADLESS, "--limit", "50"), 60, 450)],
)
def test_starting_is_cheap(arguments: tuple[str, ...], megabytes: int, modules: int) -> None:
    peak, loaded = started(*arguments)
    assert peak < megabytes * 1_000_000
    assert len(loaded) < modules


@needs_status
def test_a_small_table_is_replayed_without_numpy(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,prompt_tokens,output_tokens\n" + "1,100,20\n" * 50)
    peak, loaded = started("run", str(trace), *HEADLESS, "--lane", "paged")
    assert peak < 40_000_000
    assert len(loaded) < 245
    late = "numpy._core", "kvtui.traces.registry", "kvtui.frames.camera", "kvtui.memory.group"
    assert not {*late} & {*loaded}
    assert "click.shell_completion" not in loaded


@needs_status
def test_few_classes_of_a_short_run_compile_their_methods(tmp_path: Path) -> None:
    """Each dataclass takes about a hundredth of the start."""
    trace = tmp_path / "trace.csv"
    trace.write_text("arrival_s,prompt_tokens,output_tokens\n1,100,20\n")
    _, loaded = started("run", str(trace), *HEADLESS)
    modules = [module for name in loaded if name.startswith("kvtui.") and (module := import_module(name))]
    made = {each for module in modules for each in vars(module).values() if is_dataclass(each)}
    names = sorted(each.__qualname__ for each in made if isinstance(each, type))
    assert len(names) <= 10, names
