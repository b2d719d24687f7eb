"""The package's own source files, as the tests of this folder look at them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules() -> dict[str, Path]:
    """Every module of kvtui by dotted name, from the files: nothing is imported."""
    return {_dotted(path.relative_to(ROOT)): path for path in sorted((ROOT / "kvtui").rglob("*.py"))}


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
