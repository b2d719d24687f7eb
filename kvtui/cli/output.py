"""Files that commands write: new ones only, and whole ones only."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


def write(path: Path, text: str, *, force: bool = False) -> None:
    """A file that is known to be new, or with `force` may be replaced. Raises ConfigError that names it."""
    from kvtui import whole
    from kvtui.errors import ConfigError

    try:
        whole.write(path, text, force=force)
    except OSError as error:
        hint = "check the path, and what is free"
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}", hint=hint) from None


@contextmanager
def opened(target: str) -> Iterator[TextIO]:
    """A new text file, packed where it is named .gz, or standard output for "-"; gone after an error."""
    from kvtui.errors import ConfigError, FileIsThere

    if target == "-":
        yield sys.stdout
        return
    path = Path(target)
    if path.exists():
        raise FileIsThere(target)
    made = False
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "xt", encoding="utf-8") as stream:
            made = True
            yield stream
    except BaseException as error:
        if made:
            path.unlink(missing_ok=True)  # half a file is worse than none
        if not isinstance(error, OSError):
            raise
        raise ConfigError(
            f"{target} cannot be written: {error.strerror or error}", hint="check the path, and what is free"
        ) from None
