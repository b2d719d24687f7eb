"""Files that users get: whole ones only, and an old one stays until the new one is complete."""

from __future__ import annotations

import tempfile
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
        _replace(path.resolve(), text)  # a link stays one
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


def _replace(target: Path, text: str) -> None:
    # By a name that nobody has: one that was killed may have left its own.
    handle, name = tempfile.mkstemp(prefix=".kvtui-", suffix=".part", dir=target.parent)
    part = Path(name)
    try:
        with open(handle, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
        part.chmod(target.stat().st_mode)
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
