"""Files that users get: whole ones only, and an old one stays until the new one is complete."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from itertools import count
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


def write_beside(folder: Path, stem: str, suffix: str, text: str) -> Path:
    """A new text file under the first of `stem`, `stem`-2, `stem`-3, ... that nobody has; gives its path.

    Raises:
        OSError: it cannot be written.
    """
    for number in count(1):
        path = folder / (f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}")
        with suppress(FileExistsError):
            _new(path, text)
            return path
    raise AssertionError("there is always a next number")


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
