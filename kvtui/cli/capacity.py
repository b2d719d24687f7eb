"""`kvtui capacity`: the KV pool of a model on a GPU, and how many requests it holds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli import completion
from kvtui.cli.hardware import GPU, MODEL
from kvtui.cli.printing import say
from kvtui.cli.types import Positive
from kvtui.terms import COST, RATE, TPOT

if TYPE_CHECKING:
    from kvtui.traces.workload import Workload

GIB = 2**30


@click.command(short_help="The KV pool of a GPU, how many requests fit.")
@click.argument("trace", required=False, shell_complete=completion.traces)
@MODEL
@GPU
@click.option("--tp", default=1, show_default=True, type=click.IntRange(1), help="GPUs that share the model.")
@click.option("--gpu-memory-utilization", "utilization", type=float, help="Share of the GPU; vLLM's default.")
@click.option("--block-size", default=16, show_default=True, type=click.IntRange(1), help="Tokens a block.")
@click.option("--dtype", metavar="TYPE", help="Store the weights as this type.")
@click.option(
    "--kv-dtype",
    "--kv-cache-dtype",
    "kv_dtype",
    default="auto",
    show_default=True,
    metavar="TYPE",
    help="bf16, fp8, int8_per_token_head, int4_per_token_head, fp8_ds_mla, ...",
)
@click.option("--max-num-seqs", type=click.IntRange(1), metavar="N", help="Requests at once at most.")
@click.option("--max-num-batched-tokens", type=click.IntRange(1), metavar="N", help="Token budget of a step.")
@click.option("--vllm", metavar="RELEASE", help="As this version starts, 0.11 to 0.33 (the newest).")
@click.option("--engine", default="vllm", show_default=True, metavar="NAME", help="Whose step times.")
@click.option("--spec-model", metavar="ID", help="A drafter, as --model: it takes memory too.")
@click.option("--from-log", metavar="FILE", help="Take the pool from this server's log.")
@click.option("--length", "lengths", multiple=True, type=click.IntRange(1), help="Tokens of a request.")
@click.option("--price", type=Positive(most=1e6, zero=True), metavar="USD", help="Of one GPU for an hour.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def capacity(as_json: bool, **options: Any) -> None:
    """How large the KV pool is, how many requests it holds, and what a token of them takes and costs.

    \b
    kvtui capacity --model llama-3.1-8b --gpu h100-sxm
    kvtui capacity my-trace.csv --model ./config.json --gpu l40s --tp 2 --length 8192
    kvtui capacity --from-log vllm.log --model llama-3.1-8b --gpu a100-80 --json
    """
    from kvtui.answers.capacity import capacity as answer

    asked, workload = question_of(options), _workload(options["trace"])
    if workload is None:
        report = answer(asked, lengths=options["lengths"])
    else:
        share = int(workload.output.sum()) / int((workload.prompt + workload.output).sum())
        report = answer(asked, lengths=options["lengths"], trace=_lengths(workload), generated=share)
    click.echo(json.dumps(report, indent=2)) if as_json else say(render(report))


def question_of(options: dict[str, Any]) -> Any:
    """The question that the options ask."""
    from kvtui.answers.capacity import Question
    from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL
    from kvtui.hardware import serverlog
    from kvtui.hardware.kvtypes import kv_type
    from kvtui.hardware.names import gpu_named, model_named
    from kvtui.serving.rules import NEWEST

    return Question(
        model_named(options["model"] or DEFAULT_MODEL),
        gpu_named(options["gpu"] or DEFAULT_GPU),
        tp=options["tp"],
        utilization=options["utilization"],
        block_size=options["block_size"],
        dtype=options["dtype"],
        kv_dtype=kv_type(options["kv_dtype"]),
        max_num_seqs=options["max_num_seqs"],
        max_num_batched_tokens=options["max_num_batched_tokens"],
        vllm=options["vllm"] or NEWEST,
        engine=options["engine"],
        log=serverlog.read(options["from_log"]) if options["from_log"] else None,
        price=options["price"],
        drafter=model_named(options["spec_model"]) if options["spec_model"] else None,
    )


def _workload(source: str | None) -> Workload | None:
    from kvtui.cli.build import source_of

    return None if source is None else source_of(source)


def _lengths(workload: Workload) -> dict[str, int]:
    """Lengths of a trace's requests, prompt and answer."""
    import numpy as np

    totals = workload.prompt + workload.output
    return {
        "mean": round(float(totals.mean())),
        "p50": int(np.percentile(totals, 50)),
        "p99": int(np.percentile(totals, 99)),
        "longest": int(totals.max()),
    }


def render(report: dict[str, Any]) -> str:
    """The report as text."""
    pool, kv, model = report["pool"], report["kv"], report["model"]
    from kvtui.hardware.names import several

    gpus = several(report["tensor_parallel"], report["gpu"]["name"])
    each = "" if report["tensor_parallel"] == 1 else " on each GPU"
    lines = [f"{model['id']} ({model['dtype']}) on {gpus}, vLLM {report['vllm']}"]
    lines += [*([model["assumed"]] if model["assumed"] else []), ""]
    lines += [f"  {t['name']:<23}{t['bytes'] / GIB:>+9.2f} GiB  {t['how']}" for t in pool["terms"]]
    lines += [f"  log: {line}" for line in pool["log_lines"]]
    stored = "16 bits a number" if kv["dtype"] == "auto" else kv["dtype"]
    bound = " at most (upper bound)" if pool["upper_bound"] else ""
    lines += [
        f"  {'KV pool of each GPU':<23}{pool['bytes'] / GIB:>9.2f} GiB{bound}, {pool['label']}",
        *(f"  left out: {text}" for text in pool["left_out"]),
        *_off(pool["error"]),
        "",
        f"  {kv['bytes_per_token']:,} bytes a token{each} ({stored}), {kv['block_size']} tokens a block",
        *_states(kv, each),
        f"  {pool['num_gpu_blocks']:,} blocks, all but one usable: {pool['tokens']:,} tokens{_by_log(pool)}",
        *_in_longest(pool),
        "",
        f"  {'requests of':<20}{'fit':>8}{'running':>9}{TPOT.name:>13}{RATE.name:>11}{COST.name:>13}",
    ]
    lines += [_line(row) for row in report["fits"]]
    error = next((row["error"] for row in report["fits"] if row.get("error")), None)
    lines += ["", _assumed(report["fits"]), _remark(error), _price(report["price"])]
    return "\n".join(lines)


def _states(kv: dict[str, Any], each: str) -> list[str]:
    if not kv["state_bytes_per_request"]:
        return []
    return [f"  {kv['state_bytes_per_request']:,} bytes of states a request{each}, in blocks of their own"]


def _off(error: dict[str, Any] | None) -> list[str]:
    """How far off pools like this one were."""
    if error is None:
        return []
    from kvtui.hardware.measuredpools import off_by

    return [f"  such estimates were {off_by(error)}"]


def _by_log(pool: dict[str, Any]) -> str:
    said = pool["reported_tokens"]
    return "" if said is None else f" (by the log {said:,})"


def _in_longest(pool: dict[str, Any]) -> list[str]:
    """The other count, where it is another one by more than the null block and the end of a last one."""
    longest, blocks = pool["in_longest_requests"], pool["num_gpu_blocks"]
    if abs(longest["tokens"] - pool["tokens"]) <= 2 * pool["tokens"] / blocks:
        return []
    return [
        f"  in requests of {longest['length']:,}: {longest['tokens']:,}, what newer vLLM logs as its size"
    ]


def _line(row: dict[str, Any]) -> str:
    if row["tpot_s"] is None:
        return f"  {row['name']:<20}{row['requests']:>8,}{row['running']:>9,}"
    usd = "n/a" if row["usd_per_million_tokens"] is None else f"{row['usd_per_million_tokens']:.2f}"
    return (
        f"  {row['name']:<20}{row['requests']:>8,}{row['running']:>9,}{1000 * row['tpot_s']:>10.1f} ms"
        f"{row['output_tokens_per_s']:>11,.0f}{usd:>13}"
    )


def _assumed(rows: list[dict[str, Any]]) -> str:
    """What times and prices stand for."""
    shares = dict.fromkeys(f"{100 * row['generated_share']:.0f} %" for row in rows)
    return (
        "fit: as many as the pool holds; running: of these, as many as --max-num-seqs lets in. Times, speed "
        "and price with that many running all the time, prompts included; of a request's tokens "
        f"{' (trace: '.join(shares)}{')' if len(shares) > 1 else ''} are generated."
    )


def _remark(error: dict[str, Any] | None) -> str:
    if error is None:
        return "Times are predicted; nobody has measured how far off they are for this engine."
    how = "held out of the fit" if error["held_out"] else "that were fitted"
    return (
        f"Times are predicted: on {error['n']:,} measurements {how} the error was {error['median_pct']:.0f} %"
        f" (median), {error['p90_pct']:.0f} % (p90)."
    )


def _price(price: dict[str, Any] | None) -> str:
    if price is None:
        return "No price is known for this GPU: --price gives one."
    return f"${price['usd_per_gpu_hour']:g} a GPU hour ({price['source']}); --price sets yours."
