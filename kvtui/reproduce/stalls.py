"""What a long prompt does to running decodes: Sarathi-Serve (OSDI 2024).

Experiments as its repository runs them (branch osdi-sarathi-serve): 128 requests at a time, 2,048 in all or
30 minutes of them; vLLM with whole prompts of 8,192 tokens a step together; a strict limit on the 99th
percentile of the time between tokens, and at most 2 s of waiting in the median.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from statistics import fmean

from kvtui.hardware import catalogue
from kvtui.reproduce.entry import Entry, named
from kvtui.reproduce.openloop import Waits, waits
from kvtui.reproduce.settings import Settings
from kvtui.timing.roofline import RooflineCost
from kvtui.traces.published import Lengths, poisson
from kvtui.units import seconds

SOURCE = "Sarathi-Serve (OSDI 2024), abstract, Fig. 9, Fig. 10 and Tables 3 and 4"
BATCH, CONTEXT = 32, 1024  # decodes that run, and tokens each has stored
BUDGET, STRICT_BUDGET = 1024, 512  # tokens of a step with chunking: in Table 4, and under strict limits
PROMPT = 8192  # tokens of a whole prompt beside them
WHOLE = 8192  # prompt tokens of a step without chunks
REQUESTS, LONGEST_S = 2048, 1800.0
MEDIAN_WAIT_S = 2.0
NEAR = 1.025  # ratio of two rates that are as good as one, as in the paper's search
SEEDS = (0, 1, 2)
TABLE4_REQUESTS, TABLE4_RATE, TABLE4_SEEDS = 128, 1.0, tuple(range(8))
_LIMITS_S = {"mistral-7b": (0.1, 2.6), "yi-34b": (0.2, 3.7)}  # strict P99 TBT, capacity over vLLM's


def sarathi(settings: Settings) -> list[Entry]:
    """Times of single steps by the roofline model: decodes alone, beside a whole prompt, beside a chunk."""
    mistral = RooflineCost.of(catalogue.model("mistral-7b"), catalogue.gpu("a100-80"))
    yi = RooflineCost.of(catalogue.model("yi-34b"), catalogue.gpu("a100-80"), tp=2)
    assumed = f"{BATCH} decodes of {CONTEXT:,} tokens"
    alone, whole, chunk = (_step(mistral, tokens) for tokens in (0, PROMPT, BUDGET - BATCH))
    chunks = f"the same with chunks of {BUDGET - BATCH} tokens"
    prompt = f"prompt not given: {PROMPT:,} tokens, {assumed}; reported"
    entries = [
        Entry("whole_prompt_stall", 28.3, whole / alone, note=prompt),
        Entry("chunk_stall", None, chunk / alone, note=chunks),
        *_table4(yi, settings),
        *_capacities({"mistral-7b": mistral, "yi-34b": yi}, settings),
    ]
    return named("sarathi", entries, source=SOURCE)


def _table4(yi: RooflineCost, settings: Settings) -> list[Entry]:
    """128 requests at one a second: all prompts whole beside the decodes, or in chunks. Means over seeds."""
    lengths, said = settings.openchat()
    loads = [
        poisson("openchat", lengths, rate=TABLE4_RATE, seconds=TABLE4_REQUESTS / TABLE4_RATE, seed=seed)
        for seed in TABLE4_SEEDS
    ]
    whole, chunks, short = (
        [waits(load, yi, budget=budget, chunked=True) for load in loads]
        for budget in (WHOLE, BUDGET, STRICT_BUDGET)
    )
    script = (
        f"The paper says a budget of {BUDGET:,}; its script has {STRICT_BUDGET}, for which ours is "
        f"{_mean_tbt(short):.3f} s."
    )
    entries = [
        Entry("whole.p99_tbt_s", 0.68, _mean_tbt(whole), 30.0, note=said),
        Entry("chunks.p99_tbt_s", 0.14, _mean_tbt(chunks), 30.0, note=f"{script} {said}"),
        Entry("whole.median_ttft_s", 0.53, fmean(found.ttft_median for found in whole), note=said),
        Entry("chunks.median_ttft_s", 0.76, fmean(found.ttft_median for found in chunks), note=said),
    ]
    return [replace(entry, id=f"table4.{entry.id}", seeds=TABLE4_SEEDS) for entry in entries]


def _mean_tbt(runs: list[Waits]) -> float:
    return fmean(found.tbt_p99 for found in runs)


def _capacities(costs: dict[str, RooflineCost], settings: Settings) -> list[Entry]:
    """Requests a second within the limits, in chunks of 512 over whole prompts; and the limit, which the
    paper set to five times a decode step of 32 requests with prompts of 4k."""
    lengths, said = settings.openchat()
    entries = []
    for name, (limit, paper) in _LIMITS_S.items():
        cost = costs[name]
        whole, chunks = (
            fmean(capacity(lengths, cost, limit, chunked=chunked, seed=seed) for seed in SEEDS)
            for chunked in (False, True)
        )
        told = f"{chunks:.2f} requests a second with chunks, {whole:.2f} without. {said}"
        step = seconds(cost.step(BATCH, BATCH * 4096, 0, 0))
        entries.append(Entry(f"capacity.{name}", paper, chunks / whole, 25.0, seeds=SEEDS, note=told))
        entries.append(Entry(f"decode_step_s.{name}", limit / 5, step, note="the strict limit over five"))
    return entries


def capacity(lengths: Lengths, cost: RooflineCost, limit_s: float, *, chunked: bool, seed: int) -> float:
    """The highest rate within the limits, by bisection."""
    low, high = 0.1, 10.0
    budget = STRICT_BUDGET if chunked else WHOLE
    while high / low > NEAR:
        rate = sqrt(low * high)
        load = poisson("a", lengths, rate=rate, seconds=min(LONGEST_S, REQUESTS / rate), seed=seed)
        kept = _kept(waits(load, cost, budget=budget, chunked=chunked), limit_s)
        low, high = (rate, high) if kept else (low, rate)
    return sqrt(low * high)


def _kept(found: Waits, limit_s: float) -> bool:
    return found.tbt_p99 <= limit_s and found.start_median <= MEDIAN_WAIT_S


def _step(cost: RooflineCost, prompt: int) -> float:
    """Seconds of a step with `prompt` tokens of a prompt, as its beginning."""
    pairs = prompt * (prompt + 1) // 2
    return seconds(cost.step(BATCH, BATCH * CONTEXT, prompt, pairs))
