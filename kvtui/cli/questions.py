"""Questions that operators ask of a trace: which block size, whether to adopt paging, what caches find."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli import completion
from kvtui.cli.printing import ascii_wanted, say
from kvtui.cli.traceoptions import trace_options
from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.comparison.experiment import Experiment

Command = Callable[..., Any]
MODEL = "Model of the catalogue (llama-3.1-8b), or its config.json."
ASCII = click.option("--ascii", is_flag=True, help="Draw with ASCII characters only.")
KV_TYPES = "How KV is stored: auto (16 bits), fp8, int8_per_token_head, ..."


def _hardware(command: Command) -> Command:
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print it as JSON."),
        click.option("--max-len", type=int, metavar="N", help="Maximum length of a request."),
        click.option("--blocks", type=click.IntRange(1), metavar="N", help="Pool of N blocks of 16 tokens."),
        click.option("--from-log", metavar="FILE", help="Pool of the size that this server's log says."),
        click.option(
            "--price", type=Positive(most=1e6, zero=True), metavar="USD", help="Of one GPU for an hour."
        ),
        click.option(
            "--gpu-memory-utilization",
            "utilization",
            type=Positive(most=1),
            metavar="X",
            help="Share of the GPU.",
        ),
        click.option(
            "--kv-dtype", "--kv-cache-dtype", "kv_dtype", default="auto", metavar="TYPE", help=KV_TYPES
        ),
        click.option("--tp", default=1, type=click.IntRange(1), help="GPUs the model is split over."),
        click.option(
            "--gpu",
            default=None,
            metavar="ID",
            help="GPU of the catalogue (a10g).",
            shell_complete=completion.gpus,
        ),
        click.option("--model", default=None, metavar="ID", help=MODEL, shell_complete=completion.models),
    ):
        command = option(command)
    return command


@click.command("block-sizes", short_help="What blocks of 1 to 256 tokens cost on a trace.")
@click.argument("trace", default="chat", metavar="[TRACE]", shell_complete=completion.traces)
@ASCII
@_hardware
@trace_options
def block_sizes(as_json: bool, ascii: bool, **options: Any) -> None:
    """Blocks of 1 to 256 tokens on TRACE: waste, table size, capacity, throughput, kernel times.

    \b
    kvtui block-sizes my-trace.csv --gpu h100-sxm
    """
    from kvtui.answers import blocksizes
    from kvtui.cli.progress import Progress

    experiment = _experiment(options)
    with Progress(total=len(blocksizes.SIZES)) as progress:
        found = blocksizes.table(experiment, told=progress.show)
    drawn = ascii_wanted(asked=ascii)
    click.echo(json.dumps(found, indent=2)) if as_json else say(blocksizes.text(found, ascii=drawn))


@click.command(short_help="Whether paged memory is worth it for a trace.")
@click.argument("trace", default="chat", metavar="[TRACE]", shell_complete=completion.traces)
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
    with Progress(total=advice.RUNS) as progress:
        found = advice.advise(experiment, told=progress.show)
    click.echo(json.dumps(found, indent=2)) if as_json else say(advice.text(found))


@click.command(short_help="Prefix hits by cache size, and with host memory.")
@click.argument("trace", default="agent", metavar="[TRACE]", shell_complete=completion.traces)
@ASCII
@click.option("--host-gib", default=4.0, show_default=True, type=Positive(most=1e6), help="Of a second tier.")
@_hardware
@trace_options
def hits(host_gib: float, as_json: bool, ascii: bool, **options: Any) -> None:
    """Prefix hits of TRACE by cache size, and with host memory behind the GPU's.

    \b
    kvtui hits conversation_trace.jsonl --host-gib 64
    """
    from kvtui.answers import tiers
    from kvtui.cli.progress import Progress

    experiment = _experiment(options)
    with Progress(total=tiers.RUNS) as progress:
        found = tiers.hits(experiment, host_gib=host_gib, told=progress.show)
    drawn = ascii_wanted(asked=ascii)
    click.echo(json.dumps(found, indent=2)) if as_json else say(tiers.text(found, ascii=drawn))


def _experiment(options: dict[str, Any]) -> Experiment:
    from kvtui.cli.build import with_given_pool, workload_of
    from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
    from kvtui.comparison.lanes import LaneSpec
    from kvtui.hardware.kvtypes import kv_type
    from kvtui.hardware.names import gpu_named, model_named

    given = {name: options[name] for name in ("utilization", "price") if options[name] is not None}
    experiment = Experiment(
        workload_of(options),
        model_named(options["model"] or DEFAULT_MODEL),
        gpu_named(options["gpu"] or DEFAULT_GPU),
        (LaneSpec("paged", kv_dtype=kv_type(options["kv_dtype"])),),
        max_len=options["max_len"],
        tp=options["tp"],
        **given,
    )
    return with_given_pool(experiment, options)
