"""`kvtui browse`: look at traces on the screen, and run one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

_ONCE = ("headless", "plain", "once", "record")


@click.command(
    context_settings={"ignore_unknown_options": True}, short_help="Look through traces and open one."
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FOLDER] [RUN OPTIONS]...")
def browse(words: tuple[str, ...]) -> int:
    """Look through the traces of FOLDER and the bundled ones: arrivals, lengths, prefix reuse; run one.

    Options behind it are those of `kvtui run`, for the trace that is chosen. Leaving its screen leads back.

    \b
    kvtui browse
    kvtui browse traces --gpu h100-sxm --lane paged:16
    """
    from kvtui.cli.run import run
    from kvtui.errors import ConfigError
    from kvtui.tui.terminal import terminal_problem

    named = bool(words) and not words[0].startswith("-")
    folder = Path(words[0]) if named else Path()
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder.", hint=f"kvtui {folder} opens a single trace")
    problem = terminal_problem()
    if problem:
        raise ConfigError(
            f"there is no screen to show: {problem}.", hint="kvtui trace info TRACE prints figures"
        )
    options = list(words[named:])
    given = run.make_context("kvtui run", ["chat", *options]).params  # what is wrong is told before
    return _choose_and_run(folder.resolve(), options, given)


def _choose_and_run(folder: Path, options: list[str], given: dict[str, Any]) -> int:
    """Until the user leaves the browser; gives the exit code. What is not run on the screen, or recorded, is
    run once."""
    from kvtui.cli.lookoptions import looking
    from kvtui.cli.run import run
    from kvtui.tui import browse as screen

    looks = {name: value for name, value in looking(given).items() if name != "language"}
    at = ""
    while True:
        code, chosen = screen(folder, at=at, **looks)
        if chosen is None:
            return code
        at = chosen.trace
        window = (
            [] if chosen.start_s is None else [f"--start={chosen.start_s}", f"--duration={chosen.duration_s}"]
        )
        with run.make_context("kvtui run", [chosen.trace, *window, *options]) as context:
            code = int(run.invoke(context) or 0)
        if code or any(given[way] for way in _ONCE):
            return code
