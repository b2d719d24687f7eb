"""`kvtui reproduce`: published figures run again, the paper's value beside ours."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


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
    synthetic_trace.jsonl (Mooncake).

    \b
    kvtui reproduce                  all figures as a table
    kvtui reproduce fig2             one of them
    kvtui reproduce fig13a --screen  watch its four systems
    """
    from kvtui.reproduce import text
    from kvtui.reproduce.figures import chosen, run
    from kvtui.reproduce.settings import Settings

    if as_json + markdown + screen > 1:
        raise click.UsageError("--json, --markdown and --screen exclude each other")
    settings, names = Settings(data), chosen(name)
    if screen:
        return _show(names, settings)
    entries = []
    if not as_json and not markdown:
        click.echo(text.heading())
    for _, figure in run(names, settings):
        entries += figure
        if not as_json and not markdown:
            click.echo("\n".join(["", *text.lines(figure)]))
            sys.stdout.flush()
    if as_json:
        click.echo(json.dumps([entry.data() for entry in entries], indent=2))
    else:
        click.echo(text.markdown(entries) if markdown else f"\n{text.tally(entries)}")
    return 0


def _show(names: list[str], settings: object) -> int:
    from kvtui.cli.run import show_or_print
    from kvtui.reproduce.scenes import scene
    from kvtui.reproduce.settings import Settings

    if len(names) != 1:
        raise click.UsageError("--screen shows one figure: name it")
    assert isinstance(settings, Settings)
    return show_or_print(scene(names[0], settings))
