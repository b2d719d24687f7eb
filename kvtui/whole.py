"""Files that users get: whole ones only, and an old one stays until the new one is complete."""

from __future__ import annotations

import os
from pathlib import Path


def write(path: Path, text: str, *, force: bool = False) -> None:
    """A new text file; with `force` in place of one that is there.

    Raises:
        FileExistsError: there is one (without `force`).
        OSError: it cannot be written; nothing has changed then.
    """
    if not force or not path.exists():
        _new(path, text)
    elif path.is_file():
        target = path.resolve()  # a link stays one
        part = target.with_name(f".kvtui-{os.getpid()}.part")
        _new(part, text)
        part.chmod(target.stat().st_mode)
        part.replace(target)
    else:  # a device, which keeps nothing, or a folder, which the system refuses
        path.write_text(text, "utf-8", newline="")


def _new(path: Path, text: str) -> None:
    with path.open("x", encoding="utf-8", newline="") as stream:
        try:
            stream.write(text)
            stream.flush()
        except BaseException:
            path.unlink()
            raise
