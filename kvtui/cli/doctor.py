"""`kvtui doctor`: what the terminal can do, and what will be used of it."""

from __future__ import annotations

import click


@click.command(short_help="What this terminal can do, and what kvtui will use.")
def doctor() -> None:
    """Say what this terminal can do (colours, characters, size, link) and what kvtui will use.

    \b
    kvtui doctor
    """
    from kvtui.tui.ask import ask
    from kvtui.tui.diagnosis import findings, lines
    from kvtui.tui.terminal import believe_the_terminal, terminal_problem

    believe_the_terminal()
    answers = ask() if terminal_problem() is None else None
    for line in lines(findings(answers)):
        click.echo(line)
