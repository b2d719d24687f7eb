"""`kvtui reproduce`: published figures run again, the paper's value beside ours."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from kvtui.reproduce.entry import Entry
    from kvtui.reproduce.settings import Settings


@click.command(short_help="Published figures run again, theirs beside ours.")
@click.argument("name", required=False, metavar="[NAME]")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as a JSON list.")
@click.option("--markdown", is_flag=True, help="Print them as a Markdown table.")
@click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="Folder with the real files.")
@click.option("--screen", is_flag=True, help="Open the systems of one figure side by side.")
def reproduce(name: str | None, as_json: bool, markdown: bool, data: Path | None, screen: bool) -> int:
    """Run published figures again: the paper's value, ours, the deviation, what is allowed.

    Without NAME all of them. Files that are used where --data has them: sharegpt_opt_lengths.csv,
    alpaca_opt_lengths.csv (columns prompt_tokens, output_tokens), conversation_trace.jsonl,
    synthetic_trace.jsonl (Mooncake), sharegpt_8k_filtered_stats_llama2_tokenizer.csv (Sarathi-Serve).

    \b
    kvtui reproduce                  # all figures as a table
    kvtui reproduce fig2             # one of them
    kvtui reproduce fig13a --screen  # watch its four systems
    """
    from kvtui.reproduce import text
    from kvtui.reproduce.figures import chosen
    from kvtui.reproduce.settings import Settings

    if as_json + markdown + screen > 1:
        raise click.UsageError("--json, --markdown and --screen exclude each other")
    settings, names = Settings(data), chosen(name)
    if screen:
        return _show(names, settings)
    show = None if as_json or markdown else _print
    entries = _run(names, settings, show)
    if as_json:
        click.echo(json.dumps([entry.data() for entry in entries], indent=2))
    else:
        click.echo(text.markdown(entries) if markdown else f"\n{text.tally(entries)}")
    return 0


def _run(names: list[str], settings: Settings, show: Callable[[list[Entry]], None] | None) -> list[Entry]:
    """All entries in the order of `names`; `show` has those of a figure as soon as they are known where a
    person watches, in that order where a program reads."""
    from kvtui.cli.progress import Progress
    from kvtui.reproduce import text
    from kvtui.reproduce.figures import run

    found: dict[str, list[Entry]] = {}
    if show:
        click.echo(text.heading())
    with Progress(total=len(names)) as progress:
        for name, figure in run(names, settings, as_done=bool(show) and sys.stdout.isatty()):
            found[name] = figure
            if show:
                progress.clear()
                show(figure)
            progress.show("figures", len(found), unit="figures")
    return [entry for name in names for entry in found[name]]


def _print(figure: list[Entry]) -> None:
    from kvtui.reproduce import text

    click.echo("\n".join(["", *text.lines(figure)]))
    sys.stdout.flush()


def _show(names: list[str], settings: Settings) -> int:
    from kvtui.cli.run import show_or_print
    from kvtui.reproduce.scenes import scene

    if len(names) != 1:
        raise click.UsageError("--screen shows one figure: name it")
    return show_or_print(scene(names[0], settings))
