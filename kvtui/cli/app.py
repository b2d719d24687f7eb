"""The command group: a first word that is no command is a trace to open."""

from __future__ import annotations

import click

from kvtui import __version__
from kvtui.cli.attach import attach
from kvtui.cli.browse import browse
from kvtui.cli.capacity import capacity
from kvtui.cli.check import check
from kvtui.cli.commands import decisions, gpus, models, trace, workloads
from kvtui.cli.demo import demo
from kvtui.cli.doctor import doctor
from kvtui.cli.questions import advise, block_sizes, hits
from kvtui.cli.record import record
from kvtui.cli.replay import replay
from kvtui.cli.reproduce import reproduce
from kvtui.cli.run import run
from kvtui.cli.steptime import steptime
from kvtui.cli.sweep import sweep
from kvtui.cli.topics import explain
from kvtui.cli.tour import tour
from kvtui.cli.traces import anonymise, convert, synth

PASSED_ON = ("--help", "-h", "--version", "--install-completion")


class DefaultGroup(click.Group):
    """`kvtui PATH ...` and `kvtui --option ...` mean `kvtui run ...`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order in which a newcomer needs them."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in PASSED_ON):
            if args:
                _refuse_mistyped(args[0], self.list_commands(ctx))
            args = ["run", *args]
        return super().parse_args(ctx, args)


def _refuse_mistyped(word: str, commands: list[str]) -> None:
    """A bare word that is neither a file nor a workload and nearly a command was meant to be one."""
    from difflib import get_close_matches
    from pathlib import Path

    from kvtui.errors import ConfigError
    from kvtui.traces.synthetic import bundled

    if word.startswith("-") or {*"./\\"} & {*word} or word in bundled() or Path(word).exists():
        return
    close = get_close_matches(word, [*commands, *bundled()], n=1)
    if close and close[0] in commands:
        raise ConfigError(f"{word}: no command, workload or file.", hint=f"did you mean kvtui {close[0]}?")


@click.group(
    cls=DefaultGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="kvtui", message="%(prog)s %(version)s")
def app() -> None:
    """Show why paged KV-cache memory wins, on your own traffic, in your terminal.

    \b
    kvtui                            the bundled chat workload, side by side
    kvtui TRACE                      your own trace (Azure, BurstGPT, Mooncake, CSV, JSON Lines, ...)
    kvtui TRACE --headless           the comparison as a table; add --json for data
    """


for command in (
    run,
    tour,
    demo,
    replay,
    browse,
    attach,
    record,
    check,
    capacity,
    sweep,
    trace,
    workloads,
    models,
    gpus,
    advise,
    block_sizes,
    hits,
    reproduce,
    steptime,
    decisions,
    explain,
    doctor,
):
    app.add_command(command)
for command in (convert, anonymise, synth):
    trace.add_command(command)
