"""`kvtui browse`: look at traces on the screen, and run one."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(
    context_settings={"ignore_unknown_options": True}, short_help="Look through traces and open one."
)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FOLDER] [RUN OPTIONS]...")
def browse(words: tuple[str, ...]) -> int:
    """Look through the traces of FOLDER and the bundled ones: arrivals, lengths, prefix reuse; run one.

    Options behind it are those of `kvtui run`, for the trace that is chosen.

    \b
    kvtui browse
    kvtui browse traces --gpu h100-sxm --lane paged:16
    """
    from kvtui.cli.lookoptions import looking
    from kvtui.cli.run import run
    from kvtui.errors import ConfigError
    from kvtui.tui import browse as screen
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
    looks = {name: value for name, value in looking(given).items() if name != "language"}
    code, chosen = screen(folder.resolve(), **looks)
    if chosen is None:
        return code
    window = (
        [] if chosen.start_s is None else [f"--start={chosen.start_s}", f"--duration={chosen.duration_s}"]
    )
    with run.make_context("kvtui run", [chosen.trace, *window, *options]) as context:
        return int(run.invoke(context) or 0)
