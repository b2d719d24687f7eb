"""A fault of ours: one sentence for the user, and a report in a file for whoever mends it."""

from __future__ import annotations

import platform
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

from kvtui import __version__, whole


def report(error: BaseException) -> str:
    """Write a report about `error` into the current folder, or if that cannot be into that for temporary
    files; gives the sentence that says so. No file is overwritten, and no value of the run is in it.
    """
    what = "".join(traceback.format_exception(error))
    head = f"kvtui {__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    for folder in (Path.cwd, lambda: Path(tempfile.gettempdir())):
        try:
            path = _write(head + what, folder())
        except OSError:
            continue
        return f"kvtui: an error of kvtui itself ended it ({_name(error)}); the report is in {path}"
    return f"kvtui: an error of kvtui itself ended it ({_name(error)}), and no report could be written"


def _name(error: BaseException) -> str:
    words = " ".join(str(error).split())
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _write(text: str, folder: Path) -> Path:
    stem = f"kvtui-error-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    return whole.write_beside(folder, stem, ".txt", text)
