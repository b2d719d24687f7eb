"""Import borders: the domain loads without the screen, heavy packages only when used, the engine is pure."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from tests.packaging.source import ROOT, modules, parse

SCREEN = ("textual", "rich", "click")
ON_DEMAND = ("torch", "zmq", "msgpack", "msgspec", "httptools", "distributed")

SCREEN_SIDE = ("tui", "__main__", "cli")
# Readers know dates; backends, the player and what watches servers know the clock. Everything else decides
# what happens in a run.
EDGE = (*SCREEN_SIDE, "traces", "backends", "live")
PLAYER = "kvtui.comparison.player"
CLOCK_AND_CHANCE = ("asyncio", "time", "random", "datetime", "numpy.random")
IMPURE = (*CLOCK_AND_CHANCE, PLAYER, *(f"kvtui.{area}" for area in EDGE if area != "traces"))


def area(module: str) -> str:
    """`memory` for kvtui.memory.pool, nothing for kvtui itself."""
    return module.split(".")[1] if "." in module else ""


def test_modules_load_neither_screen_nor_on_demand_packages() -> None:
    domain = [module for module in modules() if area(module) not in SCREEN_SIDE]
    screen = [module for module in modules() if area(module) in SCREEN_SIDE]
    rings = [
        {"preload": ["numpy"], "watch": SCREEN + ON_DEMAND, "modules": domain},
        {"preload": ["textual.app"], "watch": ON_DEMAND, "modules": screen},
    ]
    probe = subprocess.run(
        [sys.executable, "-m", "tests.packaging.import_probe"],
        input=json.dumps(rings),
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert probe.returncode == 0, probe.stderr
    offenders = [f"{module}: {', '.join(found)}" for module, found in json.loads(probe.stdout).items()]
    assert not offenders, "\n".join(offenders)


def test_engine_side_is_pure() -> None:
    pure = {
        module: path for module, path in modules().items() if area(module) not in EDGE and module != PLAYER
    }
    assert "kvtui.memory.paged" in pure
    offenders = [
        f"{path.relative_to(ROOT)}:{line} uses {name}"
        for module, path in pure.items()
        for line, name in names_used(module, path)
        if any(name == banned or name.startswith(banned + ".") for banned in IMPURE)
    ]
    assert not offenders, "\n".join(offenders)


def names_used(module: str, path: Path) -> Iterator[tuple[int, str]]:
    """Every name that a module imports anywhere, in full, and `np.random` where it is used; with its line."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in ("np.random", "numpy.random"):
            yield node.lineno, "numpy.random"


def test_modules_import_each_other_in_one_direction() -> None:
    """No circle among imports at the top of modules; what is imported only for types does not count."""
    known = modules()
    below = {module: imported(path, known) - {module} for module, path in known.items()}
    while leaves := [module for module, needs in below.items() if not needs]:
        for module in leaves:
            del below[module]
        below = {module: needs.difference(leaves) for module, needs in below.items()}
    assert not below, f"a circle among {sorted(below)}"


def imported(path: Path, known: Collection[str]) -> set[str]:
    """Modules of kvtui that a module imports when it is loaded."""
    found = set()
    for node in parse(path).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= parts & set(known) or {node.module}
    return found & set(known) - {"kvtui"}
