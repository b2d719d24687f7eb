"""What is seen, in a file: a page, a table, data, or a trace. The end of the name says which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from kvtui import whole
from kvtui.errors import ConfigError, FileIsThere
from kvtui.exports.data import as_csv, as_json
from kvtui.exports.exhibit import Exhibit, LaneExhibit
from kvtui.exports.page import as_html
from kvtui.exports.tracing import as_trace

WRITERS: Final[dict[str, Callable[[Exhibit], str]]] = {  # the first that fits counts
    ".trace.json": as_trace,
    ".json": as_json,
    ".csv": as_csv,
    ".html": as_html,
}


def writer(path: Path) -> Callable[[Exhibit], str]:
    """What writes a file of that name.

    Raises:
        ConfigError: the end of its name says nothing.
    """
    for suffix, write in WRITERS.items():
        if path.name.endswith(suffix):
            return write
    raise ConfigError(
        f"'{path}' does not say what to export", hint=f"let the name end in {', '.join(WRITERS)}"
    )


def ready(path: Path, *, force: bool) -> None:
    """Complain before a long run about what `export` would complain about after it.

    Raises:
        ConfigError: the name says nothing, or the file exists (without `force`).
    """
    writer(path)
    if path.exists() and not force:
        raise FileIsThere(path, by_force=True)


def export(exhibit: Exhibit, path: Path, *, force: bool = False) -> None:
    """Write the file.

    Raises:
        ConfigError: the name says nothing, the file exists (without `force`) or cannot be written.
    """
    text = writer(path)(exhibit)
    try:
        whole.write(path, text, force=force)
    except FileExistsError:
        raise FileIsThere(path, by_force=True) from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}") from None


__all__ = ["WRITERS", "Exhibit", "LaneExhibit", "export", "ready", "writer"]
