"""The options that name files of a run without a screen: the same wherever one can be exported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--export",
        "exports",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="With --headless: also write a .html page, a .csv, a .json or a .trace.json for Perfetto.",
    ),
    click.option("--force", is_flag=True, help="Replace FILE if it exists."),
)


def export_options(command: Command) -> Command:
    """Add them to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def distinct(outputs: Sequence[Path], source: Path) -> None:
    """Complain where a file would be written twice, or in place of the one that is read."""
    from kvtui.errors import ConfigError

    for at, path in enumerate(outputs):
        if path.resolve() in [other.resolve() for other in outputs[:at]]:
            raise ConfigError(f"{path} would be written twice.", hint="give each output a name of its own")
        if path.exists() and source.exists() and path.samefile(source):
            raise ConfigError(f"{path} is what is read.", hint="write to another file")
