"""Saves a picture of the screen under a name of its own; nothing is ever overwritten."""

from __future__ import annotations

import re
from pathlib import Path

from kvtui import whole
from kvtui.tui.view import formats
from kvtui.tui.view.scene import Scene


def save(svg: str, scene: Scene, folder: Path) -> Path:
    """Write the picture to a new file in `folder` and give its path.

    Raises:
        OSError: the file cannot be written.
    """
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", Path(scene.heading.trace).stem).strip("-") or "trace"
    stem = f"kvtui-{name}-{formats.clock(scene.time_s).replace(':', '-')}"
    return whole.write_beside(folder, stem, ".svg", svg)
