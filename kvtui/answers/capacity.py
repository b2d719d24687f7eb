"""How much KV memory there is and how many requests fit, before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvtui import __version__
from kvtui.errors import ConfigError
from kvtui.hardware import money, serverlog
from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.hardware.kvtypes import element_bytes, kv_type, token_bytes
from kvtui.hardware.sizing import BatchLimits, Pool, batch_limits, default_utilization, drafter_bytes, pool
from kvtui.serving.rules import NEWEST
from kvtui.timing.coefficients import DEFAULT_ENGINE
from kvtui.timing.coefficients import engine as profile
from kvtui.timing.predict import expected_error
from kvtui.timing.roofline import RooflineCost
from kvtui.units import seconds

SCHEMA = 1
LENGTHS = (1024, 4096, 16384, 65536)
GENERATED = 0.5  # of a request's length, where only the length is known


@dataclass(frozen=True)
class Question:
    """What is asked: a model on GPUs under vLLM. None = what vLLM takes where it is not told."""

    model: ModelSpec
    gpu: GpuSpec
    tp: int = 1
    utilization: float | None = None
    block_size: int = 16
    dtype: str | None = None  # of the weights
    kv_dtype: str = "auto"
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    vllm: str = NEWEST
    engine: str = DEFAULT_ENGINE
    log: serverlog.ServerLog | None = None
    price: float | None = None
    drafter: ModelSpec | None = None

    @property
    def limits(self) -> BatchLimits:
        """Tokens and requests of a step at most."""
        default = batch_limits(self.gpu)
        return BatchLimits(self.max_num_batched_tokens or default.tokens, self.max_num_seqs or default.seqs)

    @property
    def share(self) -> float:
        """`gpu_memory_utilization`."""
        return default_utilization(self.vllm) if self.utilization is None else self.utilization

    def pool(self) -> Pool:
        """The estimate. Raises DoesNotFit."""
        return pool(
            self.model,
            self.gpu,
            block_size=self.block_size,
            utilization=self.share,
            tp=self.tp,
            dtype=self.dtype,
            kv_dtype=self.kv_dtype,
            limits=self.limits,
            vllm=self.vllm,
            drafter=self.drafter,
        )


def capacity(
    asked: Question, *, lengths: Sequence[int] = (), trace: dict[str, int] | None = None
) -> dict[str, Any]:
    """The report, schema 1: keys are added, never renamed. `trace` names lengths of one, as tokens."""
    each = token_bytes(asked.model, asked.kv_dtype, tp=asked.tp)
    each += drafter_bytes(asked.drafter, asked.kv_dtype, tp=asked.tp)
    size = (asked.log and asked.log.block_size) or asked.block_size
    estimated = None if asked.log else asked.pool()
    if asked.log:
        several = len({group.kind for group in asked.model.kv_groups}) > 1
        tokens = asked.log.usable_tokens(block_size=size, token_bytes=each, hybrid=several)
    else:
        assert estimated is not None
        tokens = estimated.tokens
    blocks = tokens // size
    wanted = {f"{n:,} tokens": n for n in lengths} or {
        f"{n:,} tokens": n for n in LENGTHS if n <= asked.model.max_positions
    }
    wanted |= {f"trace {name}": n for name, n in (trace or {}).items()}
    return {
        "schema": SCHEMA,
        "kvtui": __version__,
        "model": _model(asked),
        "gpu": {"id": asked.gpu.id, "name": asked.gpu.name, "verified": asked.gpu.verified},
        "tensor_parallel": asked.tp,
        "vllm": asked.vllm,
        "gpu_memory_utilization": None if asked.log else asked.share,
        "kv": {
            "dtype": kv_type(asked.kv_dtype),
            "bytes_per_token": each,
            "bytes_per_token_beyond_window": sum(
                token_bytes(model, asked.kv_dtype, tp=asked.tp, beyond_window=True)
                for model in (asked.model, asked.drafter)
                if model is not None
            ),
            "block_size": size,
            "bytes_per_block": size * each,
        },
        "pool": _pool(estimated, blocks, size, each, asked.log),
        "price": (r := money.rate(asked.gpu, asked.price)) and r.report(),
        "fits": [_fit(asked, name, n, blocks, size) for name, n in wanted.items()],
    }


def _model(asked: Question) -> dict[str, Any]:
    model = asked.model
    return {
        "id": model.id,
        "parameters": model.params_total,
        "active_parameters": model.params_active,
        "dtype": asked.dtype or model.checkpoint_dtype,
        "weight_bytes": model.weight_bytes(asked.dtype),
        "verified": model.verified,
    }


def _pool(
    estimated: Pool | None, blocks: int, size: int, each: int, log: serverlog.ServerLog | None
) -> dict[str, Any]:
    return {
        "label": "reported" if log else "derived",
        "bytes": blocks * size * each,
        "usable_blocks": blocks,
        "num_gpu_blocks": blocks + 1,
        "tokens": blocks * size,
        "upper_bound": bool(estimated and estimated.upper_bound),
        "left_out": list(estimated.left_out) if estimated else [],
        "terms": [term._asdict() for term in estimated.terms] if estimated else [],
        "log_lines": log.lines if log else [],
    }


def _fit(asked: Question, name: str, length: int, blocks: int, size: int) -> dict[str, Any]:
    """How many requests of one length fit, and what a step with all of them takes."""
    if length < 1:
        raise ConfigError(f"a request of {length} tokens is none", hint="lengths count from 1")
    held = blocks // -(-length // size)
    at_once = min(held, asked.limits.seqs)
    report: dict[str, Any] = {"name": name, "tokens": length, "requests": held, "running": at_once}
    if not at_once:
        return report | {"tpot_s": None, "output_tokens_per_s": None, "usd_per_million": None, "error": None}
    cost = RooflineCost.of(
        asked.model,
        asked.gpu,
        tp=asked.tp,
        kv_dtype_bytes=element_bytes(asked.model, asked.kv_dtype, tp=asked.tp),
        engine=profile(asked.engine),
    )
    step = seconds(cost.step(at_once, round(at_once * length * (1 - GENERATED / 2)), 0, 0))
    error = expected_error(asked.engine, asked.model, "each token")
    usd = money.usd_per_million(
        money.rate(asked.gpu, asked.price), gpus=asked.tp, tokens_per_s=at_once / step
    )
    return report | {
        "tpot_s": round(step, 6),
        "output_tokens_per_s": round(at_once / step, 1),
        "usd_per_million": None if usd is None else round(usd, 4),
        "error": error and error.report(),
    }
