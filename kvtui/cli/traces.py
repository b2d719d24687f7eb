"""`kvtui trace`: what traces hold and which are read; make and rewrite them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli.output import opened
from kvtui.cli.traceoptions import trace_options

if TYPE_CHECKING:
    from kvtui.traces.workload import Workload

FORMATS = ("kvtui", "mooncake", "vllm", "azure", "burstgpt")
_SUFFIXES = {".csv": "azure", ".jsonl": "mooncake"}


class TraceGroup(click.Group):
    """The commands about traces; a file where a command should be is most likely to be looked at."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        from kvtui.errors import ConfigError
        from kvtui.traces.synthetic import bundled

        name = args[0]
        if name not in self.commands and (Path(name).exists() or name in bundled()):
            raise ConfigError(f"{name} is a trace.", hint=f"kvtui trace info {name} says what it holds")
        return super().resolve_command(ctx, args)


@click.group(cls=TraceGroup)
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


@trace.command(short_help="Write a trace in another format.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option(
    "--to", type=click.Choice(FORMATS), help="Format to write; else by OUT: .csv azure, .jsonl mooncake."
)
@trace_options
def convert(source: str, target: str, to: str | None, **options: Any) -> None:
    """Write the trace IN (a file, a directory or -) as OUT (- is standard output) in another format.

    \b
    kvtui trace convert requests.csv requests.jsonl
    kvtui trace convert trace.jsonl replay.jsonl --to vllm --rate 4 --burstiness 0.5
    kvtui trace convert logs/ trace.jsonl.gz --to kvtui
    """
    to = to or _by_name(target)
    _write(_read(source, options), target, to=to)


@trace.command(short_help="Write a trace without its texts and ids.")
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--to", type=click.Choice(FORMATS), default="kvtui", show_default=True, help="Format to write.")
@trace_options
def anonymise(source: str, target: str, to: str, **options: Any) -> None:
    """Write the trace IN as OUT with nothing in it but lengths, times and which prefixes are the same.

    Text, names, users, models and hashes are dropped; ids of blocks are numbered as they come; the clock
    starts at 0.

    \b
    kvtui trace anonymise spend_logs.json shareable.jsonl
    """
    from kvtui.traces.convert import anonymous

    _write(anonymous(_read(source, options)), target, to=to)


@trace.command(short_help="Make a trace from statistics.")
@click.argument("target", metavar="OUT")
@click.option(
    "--requests", type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="How many."
)
@click.option("--rate", type=float, default=1.0, show_default=True, metavar="R", help="Requests a second.")
@click.option(
    "--burstiness",
    type=float,
    default=1.0,
    show_default=True,
    metavar="X",
    help="1 = Poisson, below: burstier.",
)
@click.option("--prompt", metavar="LENGTHS", help="One length, or quantiles: p50=800,p90=3000,p99=8000.")
@click.option("--output", metavar="LENGTHS", help="The same for answers.")
@click.option("--like", metavar="TRACE", help="Lengths drawn from TRACE, where not given.")
@click.option(
    "--prefix-groups", type=click.IntRange(0), default=0, metavar="N", help="Openings that prompts share."
)
@click.option(
    "--prefix-tokens", type=click.IntRange(0), default=0, metavar="N", help="Tokens of each opening."
)
@click.option(
    "--turns", type=float, default=1.0, show_default=True, metavar="X", help="Mean turns of a session."
)
@click.option(
    "--think", type=float, default=10.0, show_default=True, metavar="S", help="Mean wait between turns."
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="N", help="Same seed, same trace.")
@click.option("--to", type=click.Choice(FORMATS), default="kvtui", show_default=True, help="Format to write.")
def synth(
    target: str,
    requests: int,
    rate: float,
    burstiness: float,
    prompt: str | None,
    output: str | None,
    like: str | None,
    prefix_groups: int,
    prefix_tokens: int,
    turns: float,
    think: float,
    seed: int,
    to: str,
) -> None:
    """Make a trace from statistics, and say how closely it matches them.

    \b
    kvtui trace synth long.jsonl --prompt p50=800,p99=8000 --output p50=200,p99=900 --rate 4
    kvtui trace synth likewise.jsonl --like requests.csv --requests 5000 --burstiness 0.3
    kvtui trace synth talks.jsonl --prompt 400 --output 150 --turns 5 --prefix-groups 8 --prefix-tokens 1024
    """
    from kvtui.errors import ConfigError
    from kvtui.traces.quantiles import Quantiles
    from kvtui.traces.synth import Plan, closeness, synthesise

    model = _like(like) if like else None
    lengths = [Quantiles.parse(text) if text else model for text in (prompt, output)]
    if lengths[0] is None or lengths[1] is None:
        raise ConfigError("lengths are missing.", hint="give --prompt and --output, or --like TRACE")
    plan = Plan(
        requests=requests,
        rate=rate,
        burstiness=burstiness,
        prefix_groups=prefix_groups,
        prefix_tokens=prefix_tokens,
        turns=turns,
        think_s=think,
        seed=seed,
    )
    workload = synthesise(plan, prompt=lengths[0], output=lengths[1])
    _write(workload, target, to=to)
    for name, wanted, got in closeness(workload, plan, prompt=lengths[0], output=lengths[1]):
        click.echo(
            f"{name:<18} wanted {wanted:>10,.4g}  got {got:>10,.4g}  ({got / wanted - 1:+.1%})", err=True
        )


def _read(source: str, options: dict[str, Any]) -> Workload:
    from kvtui.cli.build import workload_of

    return workload_of({"trace": source, **options})


def _like(source: str) -> Workload:
    from kvtui.cli.progress import Progress
    from kvtui.traces import load

    return load(source, progress=Progress("reading").bytes)


def _by_name(target: str) -> str:
    from kvtui.errors import ConfigError

    found = next((suffix for suffix in Path(target).suffixes if suffix in _SUFFIXES), None)
    if found is None:
        raise ConfigError(f"which format is '{target}' meant to have?", hint=f"say --to {', '.join(FORMATS)}")
    return _SUFFIXES[found]


def _write(workload: Workload, target: str, *, to: str) -> None:
    """Write and say on standard error what was written, what is lost and how to replay it."""
    from kvtui.traces.convert import convert as converted
    from kvtui.traces.convert import usage

    with opened(target) as stream:
        lost = converted(workload, stream, to=to)
    click.echo(f"{len(workload):,} requests written to {target} ({to})", err=True)
    for sentence in lost:
        click.echo(f"  {sentence}", err=True)
    if command := usage(workload, to=to, path=target):
        click.echo(f"  replay: {command}", err=True)
