"""`kvtui sweep`: the same trace under many settings, and which of them to take."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from kvtui.cli import completion
from kvtui.cli.printing import say
from kvtui.cli.slooptions import limits, slo_options
from kvtui.cli.types import Positive

AXES = {
    "model": ("--model", "Models, or paths of config.json."),
    "gpu": ("--gpu", "GPUs."),
    "tp": ("--tp", "GPUs that share a model."),
    "manager": ("--manager", "Lanes as of kvtui run, with ; between: 'paged;contiguous:pow2'."),
    "block_size": ("--block-size", "Tokens a block."),
    "kv_dtype": ("--kv-dtype,--kv-cache-dtype", "KV types: auto, fp8, int4_per_token_head, ..."),
    "utilization": ("--gpu-memory-utilization", "Shares of the GPU."),
    "max_num_seqs": ("--max-num-seqs", "Requests at once at most."),
    "max_num_batched_tokens": ("--max-num-batched-tokens", "Token budgets of a step."),
    "max_len": ("--max-len", "Maximum lengths of a request."),
    "engine": ("--engine", "Whose step times."),
    "vllm": ("--vllm", "Rules of these releases."),
    "scale_rate": ("--scale-rate", "Arrive so many times as fast."),
}


def _axes(command: Any) -> Any:
    for name, (flag, about) in reversed(AXES.items()):
        command = click.option(*flag.split(","), name, metavar="A,B,...", help=about)(command)
    return command


@click.command(short_help="Many settings compared, and which to take.")
@click.argument("trace", default="chat", shell_complete=completion.traces)
@_axes
@click.option("--grid", metavar="FILE.toml", help="Axes and [slo] out of a file; options go before it.")
@slo_options
@click.option(
    "--attainment", default=0.99, show_default=True, type=Positive(most=1), help="Share that must keep them."
)
@click.option(
    "--load",
    "load_rps",
    type=Positive(most=1e12),
    metavar="RPS",
    help="Say how many GPUs this load needs at most.",
)
@click.option("--price", type=Positive(most=1e6, zero=True), metavar="USD", help="Of one GPU for an hour.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="The first N requests of the trace.")
@click.option(
    "--until", "until_s", type=Positive(most=1e12), metavar="S", help="Cut runs at this virtual time."
)
@click.option("--blocks", type=click.IntRange(1), metavar="N", help="Pool of N blocks, whatever the GPU.")
@click.option("--from-log", metavar="FILE", help="Pool of the size that this server's log says it has.")
@click.option("--ledger", metavar="FILE", help="Keep finished cells there; the same command goes on from it.")
@click.option("--retry-failed", is_flag=True, help="Run cells again that the ledger has as failed.")
@click.option("--jobs", type=click.IntRange(1, 1024), metavar="N", help="Processes (one a core).")
@click.option("--scheduler", metavar="tcp://HOST:PORT", help="Run on the workers of this Dask scheduler.")
@click.option("--report", "page", metavar="FILE.html", help="Write a page with plots and tables; new file.")
@click.option("--force", is_flag=True, help="With --report: write over a file that exists.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def sweep(as_json: bool, **options: Any) -> int:
    """Replay TRACE under every combination of settings, a cell each: times, goodput, cost, and what to take.

    \b
    kvtui sweep chat --block-size 16,32,128 --max-num-seqs 64,256
    kvtui sweep trace.csv --gpu l40s,h100-sxm --kv-dtype auto,fp8 --slo-ttft 2 --slo-tpot 0.05 --load 20
    kvtui sweep trace.csv --grid grid.toml --ledger night.jsonl --report night.html
    """
    from kvtui.cli.output import write
    from kvtui.errors import ConfigError
    from kvtui.sweep import advice, html
    from kvtui.sweep.ledger import Ledger
    from kvtui.sweep.pools import dask, local
    from kvtui.sweep.runner import Runner
    from kvtui.sweep.table import table

    cells = _cells(options)
    page = _page(options)
    ledger = Ledger(options["ledger"])
    if options["retry_failed"]:
        ledger.forget("failed")
    pools = dask(options["scheduler"]) if options["scheduler"] else local(options["jobs"], cells=len(cells))
    interrupted = _run(Runner, pools, ledger, cells)
    results = [(cell, ledger.results[cell.key]) for cell in cells if cell.key in ledger.results]
    found = advice.answer(results, attainment=options["attainment"], load_rps=options["load_rps"])
    if page:
        write(page, html.page(found), force=options["force"])
    click.echo(json.dumps(advice.report(found), indent=2)) if as_json else say(table(found))
    if interrupted:
        return 130
    if not found.best:
        raise ConfigError(
            f"no cell ran to its end: {results[0][1]['reason']}", hint="every cell is listed above"
        )
    return 0


def _run(runner: Any, pools: Any, ledger: Any, cells: Any) -> bool:
    """Whether it was interrupted."""
    from kvtui.cli.progress import Progress

    left = sum(cell.key not in ledger.results for cell in cells)
    if left < len(cells):
        print(f"kvtui: {len(cells) - left:,} of {len(cells):,} cells are in the ledger", file=sys.stderr)
    before = len(ledger.results)
    with Progress(total=left) as progress:
        show = progress.show
        try:
            runner(
                pools,
                ledger,
                done=lambda cell, result: show("cells", len(ledger.results) - before, unit="cells"),
            ).run(cells)
        except KeyboardInterrupt:
            print("kvtui: interrupted; this is how far it came", file=sys.stderr)
            return True
    return False


def _cells(options: dict[str, Any]) -> Any:
    from kvtui.cli.build import source_of
    from kvtui.frames.slo import Slo
    from kvtui.sweep.givenpool import with_given_pool
    from kvtui.sweep.grid import cells_of, read_grid, values

    axes, slo = read_grid(options["grid"]) if options["grid"] else ({}, {})
    axes |= {name: values(name, options[name]) for name in AXES if options[name]}
    slo |= limits(options)
    trace = options["trace"]
    fixed = {name: options[name] for name in ("limit", "until_s", "price")}
    cells = cells_of(trace, axes, sha256=source_of(trace).sha256, slo=Slo(**slo), **fixed)
    return with_given_pool(cells, blocks=options["blocks"], log=options["from_log"])


def _page(options: dict[str, Any]) -> Path | None:
    """Where the page goes, looked at before anything runs."""
    from kvtui.errors import ConfigError, FileIsThere

    if not options["page"]:
        return None
    path = Path(options["page"])
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigError(f"--report {path}: a report is an HTML page", hint="name it FILE.html")
    if path.exists() and not options["force"]:
        raise FileIsThere(path, by_force=True)
    if not path.parent.is_dir():
        raise ConfigError(f"there is no folder {path.parent}")
    return path
