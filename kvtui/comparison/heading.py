"""What is replayed on what: the subject of a run in a few words."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.poolestimate import pool_estimate
from kvtui.hardware.measuredpools import told
from kvtui.hardware.money import rate
from kvtui.timing.predict import ExpectedError, expected_error


@dataclass(frozen=True)
class Heading:
    """Empty strings and None are left out of the header."""

    trace: str
    model: str = ""  # "Llama-3.1-8B bf16"
    gpu: str = ""  # "A10G 24 GB"
    label: str = "simulated"
    pool_bytes: int | None = None  # on each of the GPUs
    gpus: int = 1
    blocks: int = 0
    block_size: int = 16
    seed: int | None = None
    requests: int = 0
    span_s: float = 0.0  # last arrival
    usd_per_hour: float | None = None  # of all GPUs, as given or as an example
    slo: str = ""  # what requests are to keep, in words
    tpot_error: str = ""  # how far off predicted times were where others had measured
    ttft_error: str = ""
    tpot_off_pct: float | None = None  # the median of these errors
    ttft_off_pct: float | None = None
    pool_note: str = ""  # what the size of the pool is worth, where it is estimated
    pool_at_most: bool = False  # whether it is an upper bound
    unmeasured: str = ""  # this GPU, where others had measured on other ones only


def heading_of(experiment: Experiment) -> Heading:
    """The heading of an experiment; blocks only where all lanes have blocks of one size."""
    measured = experiment.label == "measured"  # on a device that has no price here
    price = None if measured else rate(experiment.gpu, experiment.price)
    tpot, ttft = (_error(experiment, quantity) for quantity in ("each token", "first token"))
    estimate = None if measured else pool_estimate(experiment)
    one_size = len({spec.block_size for spec in experiment.lanes}) == 1
    return Heading(
        trace=experiment.trace_name,
        model=experiment.model_label,
        gpu=experiment.gpu_label,
        label=experiment.label,
        pool_bytes=experiment.pool_bytes,
        gpus=experiment.tp,
        blocks=experiment.blocks if one_size else 0,
        block_size=experiment.block_size,
        seed=experiment.seed,
        requests=len(experiment.workload),
        span_s=experiment.workload.span_s,
        usd_per_hour=None if price is None else price.usd_per_gpu_hour * experiment.tp,
        slo=experiment.slo.text,
        tpot_error=tpot.text if tpot else "",
        ttft_error=ttft.text if ttft else "",
        tpot_off_pct=tpot.median_pct if tpot else None,
        ttft_off_pct=ttft.median_pct if ttft else None,
        pool_note=told(estimate.report()) if estimate else "",
        pool_at_most=estimate is not None and estimate.upper_bound,
        unmeasured=experiment.gpu.id if tpot and not tpot.this_gpu else "",
    )


def _error(experiment: Experiment, quantity: str) -> ExpectedError | None:
    """None where some times are measured, as it is not theirs."""
    drafting = experiment.spec_method is not None
    error = expected_error(
        *(experiment.engine, experiment.model, quantity), gpu=experiment.gpu, drafting=drafting
    )
    return None if any(spec.measured for spec in experiment.lanes) else error
