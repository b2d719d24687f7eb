"""`kvtui check`: the simulation against what a real server did with the same requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli.lookoptions import looking
from kvtui.cli.run import DEFAULT_SPEED, run
from kvtui.cli.sections import Sectioned

if TYPE_CHECKING:
    from kvtui.comparison.experiment import Experiment
    from kvtui.recording import Recording

OWN = {  # which here would mean something else, or nothing
    *("headless", "plain", "every", "once", "as_json", "record", "export", "force"),
}


@click.command(
    cls=Sectioned,
    params=[param for param in run.params if param.name not in OWN],
    short_help="How far off a run is from what a server recorded.",
)
@click.option(
    "--measured",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="What the server did: a recording by kvtui attach --record.",
)
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--show", is_flag=True, help="Show the server beside the lanes instead.")
def check(measured: Path, as_json: bool, show: bool, **options: Any) -> int:
    """Run recorded traffic and print how far off batch, KV use and times are from what was measured.

    TRACE is what kvtui record wrote while the server was watched; the options are those of kvtui run. The
    last lane is compared.

    \b
    kvtui attach localhost:8000 --record server.kvtui        # meanwhile, in another terminal:
    kvtui record --upstream http://localhost:8000 -o trace.jsonl
    kvtui check trace.jsonl --measured server.kvtui --lane paged --blocks 4096
    kvtui check trace.jsonl --measured server.kvtui --lane contiguous --lane paged:kv_dtype=fp8 --show
    """
    from kvtui.answers.report import summary
    from kvtui.cli.build import experiment_of
    from kvtui.live.check import compare, render
    from kvtui.recording import Recording

    recording = Recording(measured)
    experiment = experiment_of(options)
    if show:
        return _shown(recording, experiment, options)
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


def _shown(recording: Recording, experiment: Experiment, options: dict[str, Any]) -> int:
    from kvtui.errors import ConfigError
    from kvtui.tui import run as screen
    from kvtui.tui.beside import Beside
    from kvtui.tui.terminal import terminal_problem

    if problem := terminal_problem():
        raise ConfigError(f"no full screen here: {problem}", hint="without --show the figures are printed")
    return screen(
        Beside(recording, experiment),
        speed=options["speed"] or DEFAULT_SPEED,
        **looking(options),
    )
