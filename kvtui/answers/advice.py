"""Whether to adopt paging, from a trace: the checklist answered with numbers, and a verdict in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kvtui.answers.report import summary
from kvtui.answers.subject import headline, pool_told, subject
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import money
from kvtui.traces.info import hit_rate_ceiling
from kvtui.traces.workload import Workload

RUNS = 4  # at most
LITTLE = 1.1  # ratio below which a gain is little
FIXED = 0.1  # standard deviation over mean of whole lengths below which they count as fixed
SELDOM = 5.0  # per cent of the time below which memory was not the limit
Report = dict[str, Any]


def advise(experiment: Experiment, *, told: Callable[[str, int], None] = lambda *_: None) -> dict[str, Any]:
    """Run the trace on contiguous memory, on paged memory, and on paged memory of FP8, as `kvtui run` does.

    Where nobody gave the maximum length, once more on contiguous memory with regions of the longest request,
    the best it can do without knowing answers; that decides. KV is stored as in the last lane of
    `experiment`. Simulated; prices are the user's or examples of the catalogue.
    """
    workload, kv_dtype = experiment.workload, experiment.lanes[-1].kv_dtype
    about = subject(experiment)
    lanes = [LaneSpec("contiguous", kv_dtype=kv_dtype), LaneSpec("paged", kv_dtype=kv_dtype)]
    lanes += [LaneSpec("paged", kv_dtype="fp8", name="paged-fp8")] if kv_dtype == "auto" else []
    experiment = replace(experiment, lanes=tuple(lanes))
    reports = _reports(experiment, told)
    limit = experiment.length_limit
    longest = min(max(int((workload.prompt + workload.output).max(initial=2)), 2), limit)
    if experiment.max_len is not None or workload.max_len is not None:
        longest = limit  # a server was told it, whatever came
    tight = experiment if longest == limit else replace(experiment, lanes=(lanes[0],), max_len=longest)
    base = reports[0] if tight is experiment else _reports(tight, told, before=len(reports))[0]
    checks = [_lengths(workload), _concurrency(reports), _latency(reports), _sharing(workload, reports)]
    checks += [_cost(experiment, reports), _fp8(reports)]
    return {
        **about,
        "label": "simulated",
        "max_len": limit,
        "regions": longest,
        "assumed": [text for text in experiment.assumptions if text.startswith("maximum length")],
        "checks": checks,
        "contiguous_is_as_good": as_good(base, reports[1]),
        "gains": {"max_len": _gains(reports[0], reports[1]), "regions": _gains(base, reports[1])},
        "verdict": _verdict(checks, reports[0], base, reports[1], lengths=(limit, longest)),
    }


def _reports(experiment: Experiment, told: Callable[[str, int], None], *, before: int = 0) -> list[Report]:
    lanes: list[Lane] = []
    for lane in experiment.build(watched=False):
        lane.run()
        lanes.append(lane)
        told(lane.info.name, before + len(lanes))
    found: list[Report] = summary(experiment, lanes)["lanes"]
    return found


def as_good(base: Report, paged: Report) -> bool:
    """Whether paging gains little in any respect."""
    served = paged["requests"]["finished"] <= LITTLE * base["requests"]["finished"]
    return served and max(_gain(base, paged, key) for key in _RATIOS) < LITTLE


_RATIOS: dict[str, Callable[[Report], float | None]] = {
    "batch": lambda x: x["batch"]["mean"],
    "tokens/s": lambda x: x["throughput"]["output_tokens_per_s"],
    "first token": lambda x: 1 / x["latency"]["ttft_s"]["mean"] if x["latency"]["ttft_s"]["mean"] else None,
}


def _gain(base: Report, other: Report, key: str) -> float:
    above, below = _RATIOS[key](other), _RATIOS[key](base)
    return above / below if above and below else 1.0


def _gains(base: Report, other: Report) -> dict[str, float]:
    return {key: round(_gain(base, other, key), 4) for key in _RATIOS}


def _check(question: str, answer: bool | None, said: str, **figures: Any) -> dict[str, Any]:
    return {"question": question, "answer": answer, "said": said, **figures}


def _lengths(workload: Workload) -> dict[str, Any]:
    totals = (workload.prompt + workload.output).astype(float)
    cv, used = float(totals.std() / totals.mean()), float(totals.mean() / totals.max())
    p99 = float(np.percentile(totals, 99))
    said = f"whole requests vary by {cv:.0%} of their mean; the mean is {used:.0%} of the longest"
    figures = {
        "cv": round(cv, 4),
        "mean": round(float(totals.mean()), 1),
        "p99": p99,
        "longest": int(totals.max()),
    }
    return _check("Are lengths unpredictable?", cv >= FIXED, said, **figures)


def _concurrency(reports: list[Report]) -> dict[str, Any]:
    waited = reports[0]["waiting_for_memory_pct"]
    batches = [report["batch"]["mean"] for report in reports[:2]]
    said = f"contiguous memory keeps requests waiting {waited:.0f} % of the time"
    said += f"; {batches[1]:.1f} run instead of {batches[0]:.1f}"
    question = "Does memory limit how many run at once?"
    return _check(question, waited >= SELDOM, said, waiting_for_memory_pct=waited, batch_mean=batches)


def _latency(reports: list[Report]) -> dict[str, Any]:
    first = [report["latency"]["ttft_s"]["p50"] for report in reports[:2]]
    each = [report["latency"]["tpot_s"]["p50"] for report in reports[:2]]
    longer = each[1] / each[0] - 1 if each[0] and each[1] else 0.0
    said = f"the first token comes after {_s(first[1])} instead of {_s(first[0])}"
    said += f"; each further one takes {longer:+.0%} time in the larger batch"
    sooner = bool(first[0] and first[1] is not None and first[0] > LITTLE * first[1])
    return _check("Do first tokens come sooner?", sooner, said, ttft_p50_s=first, tpot_p50_s=each)


def _sharing(workload: Workload, reports: list[Report]) -> dict[str, Any]:
    ceiling = hit_rate_ceiling(workload)
    if ceiling is None:
        return _check("Do prompts share prefixes?", None, "the trace does not say", ceiling=None)
    found = reports[1]["prefix"]["hit_rate"] or 0.0
    said = f"at most {ceiling:.0%} of prompt tokens could be found again, {found:.0%} are"
    return _check("Do prompts share prefixes?", found >= FIXED, said, ceiling=round(ceiling, 4), found=found)


def _cost(experiment: Experiment, reports: list[Report]) -> dict[str, Any]:
    price = money.rate(experiment.gpu, experiment.price)
    rates = [report["throughput"]["output_tokens_per_s"] for report in reports]
    hours = [money.gpu_hours_per_million_tokens(gpus=experiment.tp, tokens_per_s=rate) for rate in rates]
    cheaper = bool(rates[0] and rates[1] and rates[1] >= LITTLE * rates[0])
    said = "no price is known for this GPU"
    dollars = None
    if price is not None and hours[0] and hours[1]:
        dollars = [None if h is None else round(h * price.usd_per_gpu_hour, 2) for h in hours]
        said = f"a million output tokens cost ${dollars[0]:.2f} contiguous and ${dollars[1]:.2f} paged"
        said += f" (${price.usd_per_gpu_hour:g} a GPU hour, {price.source})"
    figures = {"gpu_hours_per_million_tokens": hours, "usd_per_million_tokens": dollars}
    return _check("Is it cheaper a token?", cheaper, said, **figures)


def _fp8(reports: list[Report]) -> dict[str, Any]:
    question = "Would FP8 KV help further?"
    if len(reports) < 3:
        return _check(question, None, "KV is stored in another type already", pool_tokens=None, gain=None)
    paged, eight = reports[1:3]
    pools = [report["kv"]["pool_tokens"] for report in (paged, eight)]
    first = [report["latency"]["ttft_s"]["mean"] for report in (paged, eight)]
    gain = _gain(paged, eight, "tokens/s")
    sooner = _gain(paged, eight, "first token")
    said = f"FP8 holds {pools[1] / pools[0]:.2f}x the tokens and gives {gain:.2f}x the tokens/s"
    said += f"; first tokens come after {_s(first[1])} instead of {_s(first[0])} on average"
    said += "; what it does to answers is not simulated"
    figures = {"pool_tokens": pools, "gain": round(gain, 4), "ttft_mean_s": first}
    return _check(question, max(gain, sooner) >= LITTLE, said, **figures)


def _verdict(
    checks: list[dict[str, Any]], asked: Report, base: Report, paged: Report, *, lengths: tuple[int, int]
) -> str:
    """Judged by regions of the longest request, which is the fairest to contiguous memory."""
    limit, longest = lengths
    if as_good(base, paged):
        why = "little is gained"
        if not checks[0]["answer"]:
            why = "lengths hardly vary"
        elif not checks[1]["answer"]:
            why = "memory is seldom the limit"
        return f"Contiguous is as good here: {why} ({_numbers(base, paged)}{_beside(lengths)})."
    first = _gain(base, paged, "first token")
    said = f"Adopt paging: {_numbers(base, paged)} on the same memory, first tokens {first:.1f}x as soon"
    if base is asked:
        return f"{said}."
    return (
        f"{said}, beside regions of {longest:,} tokens, the longest request; {_numbers(asked, paged)} beside "
        f"regions of {limit:,}, as of kvtui run."
    )


def _beside(lengths: tuple[int, int]) -> str:
    limit, longest = lengths
    return "" if limit == longest else f" beside regions of {longest:,} tokens, the longest request"


def _numbers(base: Report, paged: Report) -> str:
    batch, speed = (_gain(base, paged, key) for key in ("batch", "tokens/s"))
    return f"{batch:.2f}x the requests at once and {speed:.2f}x the tokens/s"


def text(found: dict[str, Any]) -> str:
    """The checklist and the verdict."""
    lines = [
        f"{headline(found)}, {found['label']}; requests of up to {found['max_len']:,} tokens",
        "",
    ]
    for check in found["checks"]:
        answer = {True: "yes", False: "no", None: "n/a"}[check["answer"]]
        lines += [f"{answer:>4}  {check['question']}", f"      {check['said']}"]
    assumed = [f"assumed: {text}" for text in found["assumed"]]
    return "\n".join([*lines, "", found["verdict"], *assumed, *pool_told(found["pool"])])


def _s(value: float | None) -> str:
    return "n/a" if value is None else f"{value:,.2f} s"
