"""`kvtui workloads`: the bundled ones."""

from __future__ import annotations

import json

import click

CEILING = (
    "hit ceiling: share of prompt tokens that a prefix cache without limit would have; n/a where the trace "
    "does not say which prompts begin alike"
)


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
