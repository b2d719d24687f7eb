"""The options that say how the screen is drawn: the same wherever one is opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--theme", default="dark", show_default=True, type=click.Choice(["dark", "light", "high-contrast"])
    ),
    click.option(
        "--colors", default="auto", show_default=True, type=click.Choice(["auto", "256", "16", "none"])
    ),
    click.option(
        "--language", type=click.Choice(["en", "ja"]), help="Of main screen and tour; else by the locale."
    ),
    click.option("--ascii", is_flag=True, help="Draw with ASCII characters only."),
    click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal."),
)


def look_options(command: Command) -> Command:
    """Add them to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def looking(options: dict[str, Any]) -> dict[str, Any]:
    """What `kvtui.tui.run` is to be told."""
    return {
        "theme": options["theme"],
        "colours": options["colors"],
        "language": options["language"],
        "ascii": options["ascii"],
        "mouse": not options["no_mouse"],
    }
