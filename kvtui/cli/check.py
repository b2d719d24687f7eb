"""`kvtui check`: the simulation against what a real server did with the same requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kvtui.cli.run import run

SCREEN_ONLY = ("headless", "as_json", "speed", "theme", "ascii", "no_mouse", "record", "force")


@click.command(params=[param for param in run.params if param.name not in SCREEN_ONLY])
@click.option(
    "--measured",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the server did: a recording by kvtui attach --record.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def check(measured: Path, as_json: bool, **options: Any) -> int:
    """Run recorded traffic and print how far off batch, KV use and times are from what was measured.

    TRACE is what kvtui record wrote while the server was watched; the options are those of kvtui run. The
    last lane is compared.

    \b
    kvtui attach localhost:8000 --record server.kvtui        # meanwhile, in another terminal:
    kvtui record --upstream http://localhost:8000 -o trace.jsonl
    kvtui check trace.jsonl --measured server.kvtui --lane paged --blocks 4096
    """
    from kvtui.cli.build import experiment_of
    from kvtui.live.check import compare, render
    from kvtui.recording import Recording
    from kvtui.report import summary

    recording = Recording(measured)
    experiment = experiment_of(options)
    lanes = experiment.build(watched=False)
    while lanes[-1].step(1 << 60):
        pass
    report = summary(experiment, lanes)["lanes"][-1]
    figures = compare(recording, Path(options["trace"]), report)
    if as_json:
        rows = [figure._asdict() | {"error_pct": figure.error} for figure in figures]
        click.echo(json.dumps({"lane": report["name"], "figures": rows}, indent=2))
    else:
        click.echo(render(figures, name=report["name"]))
    return 0
