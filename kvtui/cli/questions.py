"""Questions that operators ask of a trace: which block size, whether to adopt paging, what caches find."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli.traceoptions import trace_options
from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.comparison.experiment import Experiment

Command = Callable[..., Any]


def _hardware(command: Command) -> Command:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print it as JSON."),
        click.option("--max-len", type=int, metavar="N", help="Maximum length of a request."),
        click.option("--blocks", type=click.IntRange(1), metavar="N", help="Pool of N blocks of 16 tokens."),
        click.option("--tp", default=1, type=click.IntRange(1), help="GPUs the model is split over."),
        click.option("--gpu", default=None, metavar="ID", help="GPU of the catalogue (a10g)."),
        click.option("--model", default=None, metavar="ID", help="Model of the catalogue (llama-3.1-8b)."),
    ):
        command = option(command)
    return command


@click.command("block-sizes")
@click.argument("trace", default="chat", metavar="[TRACE]")
@_hardware
@trace_options
def block_sizes(as_json: bool, **options: Any) -> None:
    """Blocks of 1 to 256 tokens on TRACE: waste, table size, capacity, throughput, kernel times.

    \b
    kvtui block-sizes my-trace.csv --gpu h100-sxm
    """
    from kvtui.answers import blocksizes
    from kvtui.cli.progress import Progress

    experiment = _experiment(options)
    with Progress(total=len(blocksizes.SIZES)) as progress:
        found = blocksizes.table(experiment, told=progress.show)
    click.echo(json.dumps(found, indent=2) if as_json else blocksizes.text(found))


@click.command()
@click.argument("trace", default="chat", metavar="[TRACE]")
@_hardware
@trace_options
def advise(as_json: bool, **options: Any) -> None:
    """Whether paged KV memory is worth it for TRACE: a checklist from its data, and a verdict.

    \b
    kvtui advise my-trace.csv --model llama-3.1-8b --gpu l4
    """
    from kvtui.answers import advice
    from kvtui.cli.progress import Progress

    experiment = _experiment(options)
    with Progress(total=len(advice.LANES)) as progress:
        found = advice.advise(experiment, told=progress.show)
    click.echo(json.dumps(found, indent=2) if as_json else advice.text(found))


@click.command()
@click.argument("trace", default="agent", metavar="[TRACE]")
@click.option("--host-gib", default=4.0, show_default=True, type=Positive(most=1e6), help="Of a second tier.")
@_hardware
@trace_options
def hits(host_gib: float, as_json: bool, **options: Any) -> None:
    """Prefix hits of TRACE by cache size, and with host memory behind the GPU's.

    \b
    kvtui hits conversation_trace.jsonl --host-gib 64
    """
    from kvtui.answers import tiers
    from kvtui.cli.progress import Progress

    experiment = _experiment(options)
    with Progress(total=tiers.RUNS) as progress:
        found = tiers.hits(experiment, host_gib=host_gib, told=progress.show)
    click.echo(json.dumps(found, indent=2) if as_json else tiers.text(found))


def _experiment(options: dict[str, Any]) -> Experiment:
    from kvtui.cli.build import workload_of
    from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
    from kvtui.hardware import catalogue

    return Experiment(
        workload_of(options),
        catalogue.model(options["model"] or DEFAULT_MODEL),
        catalogue.gpu(options["gpu"] or DEFAULT_GPU),
        slots=None if options["blocks"] is None else options["blocks"] * 16,
        max_len=options["max_len"],
        tp=options["tp"],
    )
