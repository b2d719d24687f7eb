"""`kvtui decisions`: what the engine decides in a recorded case."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command(short_help="Decisions for a recorded case, as JSON Lines.")
@click.argument("config", type=click.Path(path_type=Path))
@click.argument("trace_file", metavar="TRACE", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="A new .jsonl[.gz]")
@click.option(
    "--vllm", default="0.32", show_default=True, metavar="RELEASE", help="Rules of the release that recorded."
)
def decisions(config: Path, trace_file: Path, output: Path, vllm: str) -> None:
    """Write the engine's decisions for a recorded case, one JSON object a step.

    \b
    kvtui decisions config.json trace.jsonl -o decisions.jsonl.gz
    """
    from kvtui.cli.output import opened
    from kvtui.decisions.recorded import decide, read_case

    case = read_case(config, trace_file)
    with opened(str(output)) as stream:
        for line in decide(*case, vllm=vllm):
            stream.write(json.dumps(line, separators=(",", ":")) + "\n")
