"""`kvtui replay`: a recording on the screen, or what it says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli.exportoptions import distinct, export_options
from kvtui.cli.lookoptions import look_options, looking
from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.recording import Recording


@click.command(short_help="Show a recording, back and forth in time.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--headless", is_flag=True, help="No screen: print the comparison as a table.")
@click.option("--json", "as_json", is_flag=True, help="With --headless: print it as JSON.")
@click.option(
    "--speed",
    default=4.0,
    show_default=True,
    type=Positive(most=1e6),
    help="Virtual seconds a second on screen.",
)
@look_options
@export_options
def replay(
    file: Path,
    headless: bool,
    as_json: bool,
    exports: tuple[Path, ...],
    force: bool,
    speed: float,
    **options: Any,
) -> int:
    """Show a recording: the same screen, back and forth in time, without trace, GPU or server.

    \b
    kvtui run chat --record run.kvtui
    kvtui replay run.kvtui
    kvtui replay run.kvtui --headless --json
    """
    if (as_json or exports) and not headless:
        raise click.UsageError(f"{'--export' if exports else '--json'} goes with --headless")
    if force and not exports:
        raise click.UsageError("--force goes with --export")
    distinct(exports, file)
    from kvtui.exports import export, ready
    from kvtui.exports.exhibits import exhibit_of_recording
    from kvtui.recording import Recording

    recording = Recording(file)
    for path in exports:
        ready(path, force=force)
    for path in exports:
        export(exhibit_of_recording(recording), path, force=force)
    if not headless:
        from kvtui.cli.run import NO_TERMINAL
        from kvtui.tui.terminal import terminal_problem

        problem = terminal_problem()
        if problem is None:
            from kvtui.tui import run as show

            return show(recording, speed=speed, **looking(options))
        print(f"kvtui: {NO_TERMINAL.format(problem)}", file=sys.stderr)
    _print(recording, as_json=as_json)
    return 0


def _print(recording: Recording, *, as_json: bool) -> None:
    from kvtui.answers.table import table
    from kvtui.live.overview import of_servers, overview
    from kvtui.recording.report import report_of

    report = report_of(recording)
    if as_json:
        print(json.dumps(report, indent=2))
    else:
        print(overview(recording) if of_servers(recording) else table(report))
