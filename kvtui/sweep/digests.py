"""Digests of the files that tell a cell's model and engine, so that changed files make another cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from kvtui.errors import ConfigError
from kvtui.hardware.names import model_files
from kvtui.timing.coefficients import engine_files

if TYPE_CHECKING:
    from kvtui.sweep.cell import Cell


def sealed(cells: Iterable[Cell]) -> list[Cell]:
    """The cells with digests of the files that tell their models and engines."""
    cells = list(cells)
    models = {name: files_digest(model_files(name)) for name in {cell.model for cell in cells}}
    engines = {name: files_digest(engine_files(name)) for name in {cell.engine for cell in cells}}
    return [
        replace(cell, model_sha256=models[cell.model], engine_sha256=engines[cell.engine]) for cell in cells
    ]


def check(cell: Cell) -> None:
    """Raises ConfigError where the model or the engine is told by other files here than in the cell."""
    (here,) = sealed([cell])
    for name in ("model", "engine"):
        if getattr(here, f"{name}_sha256") != getattr(cell, f"{name}_sha256"):
            raise ConfigError(
                f"{getattr(cell, name)} is another file here than where the sweep was started",
                hint="start the sweep again where it has changed; otherwise copy it to this worker",
            )


def files_digest(files: Sequence[Path]) -> str | None:
    """SHA-256 of these files, one that cannot be read told from an empty one; None without any."""
    if not files:
        return None
    digest = sha256()
    for file in files:
        try:
            content = sha256(file.read_bytes()).hexdigest()
        except OSError:
            content = "none"
        digest.update(f"{file.name} {content}\n".encode())
    return digest.hexdigest()
