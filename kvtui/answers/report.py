"""The comparison as data: the stable headless JSON.

JSON interface, schema 1. Keys are added, never renamed; a figure that nobody has is null. Times are virtual
seconds, simulated or measured as the `backend` of a lane says; percentages are weighted by the time the
engine was stepping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from kvtui import __version__
from kvtui.answers.verdict import verdict
from kvtui.arithmetic import added, cut, sum_of
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.poolestimate import pool_report
from kvtui.frames.counters import CounterReader
from kvtui.frames.counts import Counters, LaneInfo, Percentiles
from kvtui.frames.slo import NO_LIMITS
from kvtui.hardware import money
from kvtui.percentile import percentile
from kvtui.serving.explicit import ExplicitScheduler
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules
from kvtui.timing.predict import expected_error
from kvtui.traces.info import info
from kvtui.units import seconds

SCHEMA = 1
DIGITS = 6  # of a figure that is not a whole number
NO_DEVICE = {"device": None, "verify": None}  # of a backend: nothing carries steps out, nothing is checked


def summary(experiment: Experiment, lanes: Sequence[Lane]) -> dict[str, Any]:
    """Everything about a run, finished or cut."""
    reports = [_lane(experiment, lane) for lane in lanes]
    return {
        "schema": SCHEMA,
        "kvtui": __version__,
        "trace": info(experiment.workload),
        "config": _config(experiment),
        "lanes": reports,
        "verdict": verdict(reports),
    }


def _config(experiment: Experiment) -> dict[str, Any]:
    rules = experiment.rules
    return {
        "model": experiment.model.id,
        "gpu": experiment.gpu.id,
        "tensor_parallel": experiment.tp,
        "gpu_memory_utilization": experiment.share,
        "pool": pool_report(experiment),
        "engine": experiment.engine,
        "time": experiment.label,
        "device": None if experiment.backend is None else experiment.backend.device_label,
        "max_len": rules.max_model_len,
        "max_num_seqs": rules.max_num_seqs,
        "max_num_batched_tokens": rules.max_num_batched_tokens,
        "chunked_prefill": rules.enable_chunked_prefill,
        "policy": rules.policy,
        "long_prefill_token_threshold": rules.long_prefill_token_threshold,
        "watermark": rules.watermark,
        "async_scheduling": rules.async_scheduling,
        "speculation": _speculation(experiment, rules),
        "vllm": rules.release.name,
        "until_s": experiment.until_s,
        "assumed": list(experiment.assumptions),
    }


def _lane(experiment: Experiment, lane: Lane) -> dict[str, Any]:
    counters = CounterReader(lane.engine, experiment.slo).read()
    total, time_s = len(lane.engine.workload), seconds(lane.now_ps)
    return {
        "name": lane.info.name,
        "manager": lane.info.manager,
        "lane": lane.spec.options,
        "kv_dtype": lane.spec.kv_dtype,
        "backend": {"name": "simulated"} | NO_DEVICE if lane.times is None else lane.times.report(),
        **counted(lane.info, counters, total=total, time_s=time_s, steps=lane.step_count),
        "waiting_for_memory_pct": _waiting(lane),
        "fits": _fits(experiment, lane),
        "slo": _slo(experiment, counters),
        "cost": None if lane.spec.measured else _cost(experiment, counters),
        "expected_error": _expected_error(experiment, lane),
        "layer_groups": _groups(lane),
        "speculation": _drafts(lane),
        "busy_s": _round(seconds(lane.engine.meter.time)),
        "rejections": _rejections(lane),
        "notes": _notes(experiment, lane, counters),
    }


def counted(info: LaneInfo, counters: Counters, *, total: int, time_s: float, steps: int) -> dict[str, Any]:
    """What a report says of a lane that any of its frames tells; `total` requests are in the workload."""
    return {
        "requests": {
            "total": total,
            "finished": counters.finished,
            "rejected": counters.rejected,
            "unfinished": counters.unfinished,
            "preemptions": counters.preemptions,
        },
        "batch": {"mean": _round(counters.batch_mean), "peak": counters.batch_peak},
        "kv": _memory(info, counters),
        "prefix": _prefix(counters),
        "sharing": {
            "saved_pct": counters.saved_mean,
            "copied_blocks": counters.copies,
            "swapped_out_blocks": counters.swapped_out,
            "swapped_in_blocks": counters.swapped_in,
        },
        "latency": {
            "ttft_s": _percentiles(counters.ttft),
            "tpot_s": _percentiles(counters.tpot),
            "e2e_s": _percentiles(counters.e2e),
        },
        "throughput": {
            "output_tokens_per_s": _round(counters.output_tokens_per_s),
            "requests_per_s": _round(counters.requests_per_s),
        },
        "output_tokens": counters.output_tokens,
        "time_s": _round(time_s),
        "steps": steps,
        "prefill_chunks": counters.chunks,
    }


def _slo(experiment: Experiment, counters: Counters) -> dict[str, Any] | None:
    """The limits that were set, and the share of requests that kept them all: of those that have ended or
    have broken one already."""
    if experiment.slo == NO_LIMITS:
        return None
    ended = counters.finished + counters.rejected + counters.late
    share = None if counters.good is None or not ended else _round(counters.good / ended)
    return {**asdict(experiment.slo), "good": counters.good, "attainment": share}


def _cost(experiment: Experiment, counters: Counters) -> dict[str, Any] | None:
    """Dollars of a million generated tokens, at the user's price or an example of the catalogue."""
    rate = money.rate(experiment.gpu, experiment.price)
    usd = money.usd_per_million_tokens(rate, gpus=experiment.tp, tokens_per_s=counters.output_tokens_per_s)
    return None if rate is None else {"usd_per_million_tokens": _round(usd), **rate.report()}


def _expected_error(experiment: Experiment, lane: Lane) -> dict[str, Any]:
    """How far off predicted times were where others had measured; null where nobody has."""
    told: dict[str, Any] = {}
    drafting = experiment.spec_method is not None
    for key, quantity in (("tpot_s", "each token"), ("ttft_s", "first token")):
        error = expected_error(
            *(experiment.engine, experiment.model, quantity), gpu=experiment.gpu, drafting=drafting
        )
        told[key] = None if error is None or lane.spec.measured else error.report()
    return told


def _memory(info: LaneInfo, counters: Counters) -> dict[str, Any]:
    """Where KV memory was, weighted by time; the seven shares add up to 100."""
    split = counters.split_mean
    return {
        "pool_tokens": info.pool_tokens,
        "pool_bytes": info.pool_bytes,
        "blocks": info.blocks,
        "block_size": info.block_size,
        "token_states_pct": split.stored,
        "reserved_pct": split.reserved,
        "internal_pct": split.internal,
        "external_pct": split.external,
        "tail_pct": split.tail,
        "cached_pct": split.cached,
        "free_pct": split.free,
        "evictions": counters.evictions,
    }


def _groups(lane: Lane) -> list[dict[str, Any]] | None:
    """Layers that share a block table, where a model's layers differ; null where all share one."""
    manager = lane.engine.manager
    if manager.tables == 1:
        return None
    from kvtui.memory.grouped import GroupedMemoryManager

    assert isinstance(manager, GroupedMemoryManager)
    return [
        {
            "attention": group.name,
            "window": group.window,
            "layers": len(group.layers),
            "block_size": group.size,
        }
        for group in manager.groups
    ]


def _speculation(experiment: Experiment, rules: Rules) -> dict[str, Any] | None:
    if rules.spec_method is None:
        return None
    return {
        "method": rules.spec_method,
        "tokens": rules.num_speculative_tokens,
        "acceptance": list(rules.acceptance),
        "pool_is_upper_bound": experiment.drafter_left_out,
    }


def _drafts(lane: Lane) -> dict[str, Any] | None:
    """Counters of speculative decoding as vLLM publishes them, drafts computed for nothing, and tokens that a
    verifying step yields."""
    scheduler = lane.engine.scheduler
    if not isinstance(scheduler, ExplicitScheduler) or lane.engine.rules.spec_method is None:
        return None
    counted = asdict(scheduler.spec)
    steps, accepted = counted["num_drafts"], counted["num_accepted_tokens"]
    return counted | {
        "num_wasted_tokens": counted["num_draft_tokens"] - accepted,
        "acceptance_rate": _rate(accepted, counted["num_draft_tokens"]),
        "mean_accepted_length": _round(1 + accepted / steps) if steps else None,
    }


def _waiting(lane: Lane) -> float:
    """Share of the time in which the next request waited for memory."""
    meter = lane.engine.meter
    return round(100 * meter.blocked / meter.time, 3) if meter.time else 0.0


def _fits(experiment: Experiment, lane: Lane) -> dict[str, int]:
    """How many requests of one length the pool holds: at the maximum, and at this trace's mean and p99."""
    workload, limit = experiment.workload, lane.engine.rules.max_model_len
    prompts, outputs = workload.plain("prompt"), workload.plain("output")
    totals = cut(added(prompts, outputs), limit)
    lengths = {
        "max_len": limit,
        "mean": round(sum_of(totals) / len(totals)),
        "p99": round(percentile(totals, 99)[0]),
    }
    share = sum_of(prompts) / max(sum_of(totals), 1)
    fits = {}
    for name, length in lengths.items():
        prompt = min(max(round(length * share), 1), length)
        fits[name] = lane.engine.manager.fit(Request(0, prompt, length - prompt))
    return fits


def _prefix(counters: Counters) -> dict[str, Any]:
    return {
        "query_tokens": counters.query_tokens,
        "hit_tokens": counters.hit_tokens,
        "hit_rate": _rate(counters.hit_tokens, counters.query_tokens),
        "readmission_query_tokens": counters.readmit_query_tokens,
        "readmission_hit_tokens": counters.readmit_hit_tokens,
        "readmission_hit_rate": _rate(counters.readmit_hit_tokens, counters.readmit_query_tokens),
        "same_step_hit_tokens": counters.same_step_hit_tokens,
    }


def _rejections(lane: Lane) -> list[dict[str, Any]]:
    """Why requests were refused: the reasons, how often each, and the first request."""
    reasons: dict[str, dict[str, Any]] = {}
    workload, limit = lane.engine.workload, lane.engine.rules.max_model_len
    for number, (needed, there) in lane.engine.results.refusals.items():
        prompt = workload.plain("prompt")[number]
        too_long = prompt >= limit
        reason = "no room for an answer below the maximum length" if too_long else "never fits into the pool"
        reason = reason if prompt else "has no prompt"
        entry = reasons.setdefault(
            reason,
            {
                "reason": reason,
                "count": 0,
                "first": number,
                "needed": needed,
                "available": there,
                "unit": "tokens" if too_long or not prompt else "blocks",
            },
        )
        entry["count"] += 1
    return list(reasons.values())


def _notes(experiment: Experiment, lane: Lane, counters: Counters) -> list[str]:
    workload = experiment.workload
    notes = []
    if (
        lane.engine.manager.prefix_cache
        and workload.unit
        and counters.query_tokens
        and not counters.hit_tokens
    ):
        longest = int((workload.shared_units * workload.unit).max(initial=0))
        longest = min(longest, int(workload.prompt.max(initial=0)))
        if 0 < longest < lane.info.block_size:
            notes.append(
                f"no prefix hits: the longest shared prefix is {longest} tokens, less than one block of "
                f"{lane.info.block_size}"
            )
    return notes


def _percentiles(values: Percentiles) -> dict[str, Any]:
    return {k: v if isinstance(v, int) else _round(v) for k, v in values._asdict().items()}


def _rate(part: int, whole: int) -> float | None:
    return _round(part / whole) if whole else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)
