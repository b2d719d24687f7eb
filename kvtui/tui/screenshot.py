"""Saves a picture of the screen under a name of its own; nothing is ever overwritten."""

from __future__ import annotations

import re
from itertools import count
from pathlib import Path

from kvtui.tui.view import formats
from kvtui.tui.view.scene import Scene


def save(svg: str, scene: Scene, folder: Path) -> Path:
    """Write the picture to a new file in `folder` and give its path.

    Raises:
        OSError: the file cannot be written.
    """
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", Path(scene.heading.trace).stem).strip("-") or "trace"
    stem = f"kvtui-{name}-{formats.clock(scene.time_s).replace(':', '-')}"
    for number in count(1):
        path = folder / (f"{stem}.svg" if number == 1 else f"{stem}-{number}.svg")
        try:
            with path.open("x", encoding="utf-8") as stream:
                stream.write(svg)
        except FileExistsError:
            continue
        return path
    raise AssertionError("there is always a next number")
