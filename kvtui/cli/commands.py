"""The smaller commands: trace, workloads, decisions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from kvtui.cli.traceoptions import trace_options

CEILING = (
    "hit ceiling: share of prompt tokens that a prefix cache without limit would have; n/a where the trace "
    "does not say which prompts begin alike"
)


@click.group()
def trace() -> None:
    """Look at request traces, convert and make them."""


@trace.command("info", short_help="What a trace holds, and what was assumed to read it.")
@click.argument("file")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@trace_options
def trace_info(file: str, as_json: bool, **options: Any) -> None:
    """What FILE (or a directory, or -) holds: format, requests, lengths, and what was assumed to read it.

    \b
    kvtui trace info requests.csv
    kvtui trace info requests.jsonl.gz --json
    """
    from kvtui.cli.build import workload_of
    from kvtui.traces.info import info, render

    facts = info(workload_of({"trace": file, **options}))
    click.echo(json.dumps(facts, indent=2) if as_json else render(facts))


@trace.command("formats")
def trace_formats() -> None:
    """List the formats that are recognised.

    \b
    kvtui trace formats
    """
    from kvtui.cli.printing import say
    from kvtui.traces.registry import loaders

    found = list(loaders())
    longest = max(len(loader.name) for loader in found)
    say("\n".join(f"{loader.name:<{longest}}  {loader.title}" for loader in found))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def workloads(as_json: bool) -> None:
    """List the bundled workloads with their statistics.

    \b
    kvtui workloads
    """
    from kvtui.traces import load
    from kvtui.traces.info import info
    from kvtui.traces.synthetic import bundled, path_of, recipe

    rows = {name: info(load(str(path_of(name)))) | {"about": recipe(name).about} for name in bundled()}
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    from kvtui.cli.printing import say

    click.echo("name           requests  span s  prompt mean/p99  output mean/p99  hit ceiling")
    for name, facts in rows.items():
        prompt, output, ceiling = facts["prompt"], facts["output"], facts["hit_rate_ceiling"]
        span, lengths = facts["span_s"], [f"{p['mean']:,.0f} / {p['p99']:,.0f}" for p in (prompt, output)]
        share = "n/a" if ceiling is None else f"{ceiling:.1%}"
        click.echo(
            f"{name:<14} {facts['requests']:>8,}  {span:>6,.0f}  {lengths[0]:>15}  {lengths[1]:>15}"
            f"  {share:>11}\n{'':14} {facts['about']}"
        )
    say(CEILING)


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
