"""The command group: a first word that is no command is a trace to open."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import click

from kvtui import __version__
from kvtui.cli.completion import traces
from kvtui.cli.story import COMMANDS, STORY

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

PASSED_ON = ("--help", "-h", "--version")


class DefaultGroup(click.Group):
    """`kvtui PATH ...` and `kvtui --option ...` mean `kvtui run ...`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command is loaded when it is asked for, as most of them are not."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(".")
        command: click.Command = getattr(import_module(f"kvtui.cli.{module}"), name)
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The story of the commands; the two options are in the text above it."""
        formatter.write_paragraph()
        for part, names, do in STORY:
            alone = self.get_command(ctx, next(iter(names)))
            assert alone is not None
            told = do or alone.get_short_help_str(60)
            formatter.write(f"  {part:<9}{', '.join(names):<22}{told}\n")

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        completing = ctx.resilient_parsing  # the word that is being typed is not among them
        if not args and completing:
            return super().parse_args(ctx, args)
        if not args or (args[0] not in COMMANDS and args[0] not in PASSED_ON):
            if args and not completing:
                _refuse_mistyped(args[0])
            args = ["run", *args]
        return super().parse_args(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        offered = super().shell_complete(ctx, incomplete)
        if not incomplete.startswith("-"):
            return offered + traces(ctx, None, incomplete)
        run = self.get_command(ctx, "run")
        assert run is not None
        with run.make_context("run", [], parent=ctx, resilient_parsing=True) as inner:
            return offered + run.shell_complete(inner, incomplete)


def _refuse_mistyped(word: str) -> None:
    """A bare word that is neither a file nor a workload and nearly a command or one was meant to be that."""
    from difflib import get_close_matches
    from pathlib import Path

    from kvtui.cli.topics import topics
    from kvtui.errors import ConfigError
    from kvtui.traces.synthetic import bundled

    if word.startswith("-") or {*"./\\"} & {*word} or word in bundled() or Path(word).exists():
        return
    if word.lower() in topics():
        raise ConfigError(
            f"{word}: no command, workload or file.", hint=f"kvtui help {word.lower()} explains it"
        )
    close = get_close_matches(word, [*COMMANDS, *bundled()], n=1)
    if close:
        raise ConfigError(f"{word}: no command, workload or file.", hint=f"did you mean kvtui {close[0]}?")


@click.group(
    cls=DefaultGroup,
    options_metavar="[TRACE | COMMAND]",
    subcommand_metavar="[OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="kvtui", message="%(prog)s %(version)s")
def app() -> None:
    """Show why paged KV-cache memory wins, on your own traffic, in your terminal.

    \b
    kvtui                    watch the bundled chat workload, side by side
    kvtui TRACE              your own trace (Azure, Mooncake, CSV, JSON Lines ...)
    kvtui TRACE --headless   the comparison as a table; add --json for data
    kvtui COMMAND --help     its options, and an example; kvtui --version
    """
