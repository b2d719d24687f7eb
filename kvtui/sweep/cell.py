"""One cell of a sweep: settings in, figures out. Runs in whatever process an executor has."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from json import dumps
from typing import Any

from kvtui import __version__
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.poolestimate import pool_report
from kvtui.errors import ConfigError, DoesNotFit, KvtuiError
from kvtui.frames.counters import CounterReader
from kvtui.frames.slo import NO_LIMITS, Slo
from kvtui.hardware import money
from kvtui.hardware.names import gpu_named, model_named
from kvtui.hardware.startup import default_utilization
from kvtui.serving.rules import NEWEST
from kvtui.sweep.digests import check
from kvtui.timing.predict import expected_error
from kvtui.traces import load
from kvtui.traces.synthetic import bundled, path_of
from kvtui.traces.workload import Workload
from kvtui.units import seconds

Result = dict[str, Any]
DIGITS = 6


@dataclass(frozen=True, slots=True)
class Cell:
    """All that a run depends on, in plain values. Paths are such that every worker can read them."""

    trace: str
    trace_sha256: str
    model: str
    gpu: str
    manager: str = "paged"  # as --lane has it
    tp: int = 1
    block_size: int = 16
    kv_dtype: str = "auto"
    utilization: float | None = None  # None = the release's own, which the cell then has
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    max_len: int | None = None
    engine: str = "vllm"
    vllm: str = NEWEST
    limit: int | None = None  # requests of the trace
    scale_rate: float | None = None
    until_s: float | None = None
    slots: int | None = None  # of the pool, as `Experiment.slots`; None = as estimated
    pool_from: str = ""  # who said so
    price: float | None = None  # of one GPU for an hour
    slo: Slo = NO_LIMITS
    model_sha256: str | None = None  # of the files that tell the model; None = out of the catalogue
    engine_sha256: str | None = None  # of the calibration; None = a profile of kvtui's own

    def __post_init__(self) -> None:
        if self.utilization is None:
            object.__setattr__(self, "utilization", default_utilization(self.vllm))

    @property
    def key(self) -> str:
        """Names the cell in a ledger: the same settings under the same version of kvtui."""
        text = dumps([asdict(self), __version__], sort_keys=True)
        return sha256(text.encode()).hexdigest()[:24]


def run_cell(cell: Cell) -> Result:
    """Figures of one cell, "status" first: done, refused (with the reason) or failed (a fault of kvtui's)."""
    try:
        return {"status": "done", **_figures(cell)}
    except KvtuiError as error:
        kind = "does not fit" if isinstance(error, DoesNotFit) else "refused"
        return {"status": kind, "reason": error.message}
    except Exception as error:
        return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}


@lru_cache(maxsize=2)
def _workload(trace: str, limit: int | None, scale_rate: float | None) -> Workload:
    path = str(path_of(trace)) if trace in bundled() else trace
    return load(path, limit=limit, scale_rate=scale_rate)


def experiment_of(cell: Cell) -> Experiment:
    """The run that a cell stands for. Raises ConfigError where a file of it is another one here."""
    workload = _workload(cell.trace, cell.limit, cell.scale_rate)
    if workload.sha256 != cell.trace_sha256:
        raise ConfigError(f"{cell.trace} is another file here than where the sweep was started")
    default = LaneSpec("", block_size=cell.block_size, kv_dtype=cell.kv_dtype)
    experiment = Experiment(
        workload,
        model_named(cell.model),
        gpu_named(cell.gpu),
        (LaneSpec.parse(cell.manager, default=default),),
        tp=cell.tp,
        utilization=cell.utilization,
        max_num_seqs=cell.max_num_seqs,
        max_num_batched_tokens=cell.max_num_batched_tokens,
        max_len=cell.max_len,
        engine=cell.engine,
        vllm=cell.vllm,
        until_s=cell.until_s,
        slots=cell.slots,
        pool_from=cell.pool_from,
    )
    check(cell)
    return experiment


def _figures(cell: Cell) -> Result:
    experiment = experiment_of(cell)
    (lane,) = experiment.build(watched=False)
    lane.run()
    counters = CounterReader(lane.engine, cell.slo).read()
    good = counters.good
    span = seconds(lane.now_ps)
    split = counters.split_mean
    rate = money.rate(experiment.gpu, cell.price)
    wasted = split.reserved + split.internal + split.external + split.tail
    usd = money.usd_per_million_tokens(rate, gpus=cell.tp, tokens_per_s=counters.output_tokens_per_s)
    month = money.waste_usd_per_month(rate, gpus=cell.tp, share=wasted / 100)
    errors = {
        name: expected_error(cell.engine, experiment.model, quantity, gpu=experiment.gpu)
        for name, quantity in (("tpot", "each token"), ("ttft", "first token"))
    }
    pool = pool_report(experiment)
    told = {name: error and error.report() for name, error in errors.items()} | {"e2e": None}
    return {
        "pool_tokens": lane.info.pool_tokens,
        "max_model_len": experiment.rules.max_model_len,
        "requests": counters.finished + counters.rejected + counters.unfinished,
        "finished": counters.finished,
        "rejected": counters.rejected,
        "preemptions": counters.preemptions,
        "batch_mean": _round(counters.batch_mean),
        "batch_peak": counters.batch_peak,
        "wasted_pct": _round(wasted),
        "ttft_s": {k: _round(v) for k, v in counters.ttft._asdict().items()},
        "tpot_s": {k: _round(v) for k, v in counters.tpot._asdict().items()},
        "e2e_s": {k: _round(v) for k, v in counters.e2e._asdict().items()},
        "output_tokens_per_s": _round(counters.output_tokens_per_s),
        "requests_per_s": _round(counters.requests_per_s),
        "slo_attainment": _share_of(good, len(experiment.workload)),
        "goodput_rps": _share_of(good, span),
        "time_s": _round(span),
        "usd_per_million_tokens": _round(usd),
        "waste_usd_per_month": _round(month),
        "price": rate and rate.report(),
        "expected_error": told,
        "pool": pool,
        "pool_error": pool["error"],
    }


def _share_of(good: int | None, whole: float) -> float | int | None:
    return None if good is None or not whole else _round(good / whole)


def _round(value: float | int | None) -> float | int | None:
    return value if value is None or isinstance(value, int) else round(float(value), DIGITS)
