"""How much KV memory there is and how many requests fit, before anything is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kvtui import __version__
from kvtui.comparison.layers import block_size_of, layers_of, slot_bytes, state_bytes, states_known, tables_of
from kvtui.errors import ConfigError
from kvtui.hardware import money, serverlog
from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.hardware.kvtypes import kv_type, token_bytes
from kvtui.hardware.measuredpools import GIVEN, judged
from kvtui.hardware.sizing import BatchLimits, Pool, batch_limits, pool
from kvtui.hardware.startup import default_utilization, minor
from kvtui.memory.groups import groups_of
from kvtui.serving.rules import NEWEST, Rules
from kvtui.timing.coefficients import DEFAULT_ENGINE
from kvtui.timing.predict import expected_error
from kvtui.timing.stepcost import step_cost
from kvtui.units import seconds

SCHEMA = 1
LENGTHS = (1024, 4096, 16384, 65536)
GENERATED = 0.5  # of a request's tokens, where only their number is known


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

    def __post_init__(self) -> None:
        minor(self.vllm)  # refuses one that is not known

    @property
    def limits(self) -> BatchLimits:
        """Tokens and requests of a step at most."""
        default = batch_limits(self.gpu)
        return BatchLimits(self.max_num_batched_tokens or default.tokens, self.max_num_seqs or default.seqs)

    @property
    def share(self) -> float:
        """`gpu_memory_utilization`."""
        return default_utilization(self.vllm) if self.utilization is None else self.utilization

    def pool(self, unit: Blocks) -> Pool:
        """The estimate, in such blocks. Raises DoesNotFit."""
        return pool(
            self.model,
            self.gpu,
            block_size=unit.size,
            utilization=self.share,
            tp=self.tp,
            dtype=self.dtype,
            kv_dtype=self.kv_dtype,
            limits=self.limits,
            vllm=self.vllm,
            drafter=self.drafter,
            slot_bytes=unit.slot_bytes,
        )


class Blocks(NamedTuple):
    """Blocks of the pool as the model needs them."""

    size: int  # tokens
    slot_bytes: int  # bytes on one GPU over the size: of a token, or of what one group of layers stores of it
    layers: tuple[str, ...]  # where they have tables of their own, see `groups_of`

    @classmethod
    def of(cls, asked: Question) -> Blocks:
        """As vLLM has them unless a log says otherwise. Raises ConfigError, see `slot_bytes`."""
        model, tp = asked.model, asked.tp
        slot = slot_bytes(model, asked.kv_dtype, tp=tp, drafter=asked.drafter)
        each = token_bytes(model, asked.kv_dtype, tp=tp)
        told = asked.log and asked.log.block_size
        size = told or block_size_of(model, asked.block_size, tp=tp, each=each)
        return cls(size, slot, layers_of(model, tp))

    def needed(self, tokens: int, asked: Question) -> int:
        """Blocks that a request of so many tokens needs at once, at most: windows and states have an end."""
        if not self.layers:
            return -(-tokens // self.size)
        rules = Rules(asked.model.max_positions, max_num_batched_tokens=asked.limits.tokens)
        return sum(group.at_once(tokens) for group in groups_of(self.layers, self.size, rules))

    def in_longest(self, blocks: int, asked: Question) -> dict[str, int]:
        """Tokens of so many blocks, the null block too, in requests of the longest length there is: what
        newer releases of vLLM log as the size of the KV cache. Windows have an end and states do not grow,
        so that layers with tables of their own hold more of these."""
        longest = asked.model.max_positions
        return {"length": longest, "tokens": (blocks + 1) * longest // self.needed(longest, asked)}


def capacity(
    asked: Question,
    *,
    lengths: Sequence[int] = (),
    trace: dict[str, int] | None = None,
    generated: float = GENERATED,
) -> dict[str, Any]:
    """The report, schema 1: keys are added, never renamed. `trace` names lengths of one, as tokens, of which
    the share `generated` is generated."""
    unit = Blocks.of(asked)
    estimated = None if asked.log else asked.pool(unit)
    if asked.log:
        blocks = asked.log.usable_blocks(
            block_size=unit.size,
            block_bytes=unit.size * unit.slot_bytes,
            tables=tables_of(asked.model, asked.tp),
        )
    else:
        assert estimated is not None
        blocks = estimated.blocks
    wanted = {f"{n:,} tokens": n for n in lengths} or {
        f"{n:,} tokens": n for n in LENGTHS if n <= asked.model.max_positions
    }
    fits = [_fit(asked, name, n, blocks, unit, GENERATED) for name, n in wanted.items()]
    fits += [_fit(asked, f"trace {name}", n, blocks, unit, generated) for name, n in (trace or {}).items()]
    kv = _kv(asked, unit)
    return {
        "schema": SCHEMA,
        "kvtui": __version__,
        "model": _model(asked),
        "gpu": {"id": asked.gpu.id, "name": asked.gpu.name, "verified": asked.gpu.verified},
        "tensor_parallel": asked.tp,
        "vllm": asked.vllm,
        "gpu_memory_utilization": None if asked.log else asked.share,
        "kv": kv,
        "pool": _pool(asked, unit, blocks, estimated, kv["bytes_per_token"]),
        "price": (r := money.rate(asked.gpu, asked.price)) and r.report(),
        "fits": fits,
    }


def _kv(asked: Question, unit: Blocks) -> dict[str, Any]:
    """What a token and a request take on one GPU."""
    stored = [model for model in (asked.model, asked.drafter) if model is not None]
    each, beyond = (
        sum(token_bytes(model, asked.kv_dtype, tp=asked.tp, beyond_window=far) for model in stored)
        for far in (False, True)
    )
    known = states_known(asked.model, asked.tp)
    return {
        "dtype": kv_type(asked.kv_dtype),
        "bytes_per_token": each,
        "bytes_per_token_beyond_window": beyond,
        "state_bytes_per_request": state_bytes(asked.model, asked.tp) if known else None,
        "block_size": unit.size,
        "bytes_per_block": unit.size * unit.slot_bytes,
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
        "assumed": model.assumed or None,
    }


def _pool(asked: Question, unit: Blocks, blocks: int, estimated: Pool | None, token: int) -> dict[str, Any]:
    """The pool; `tokens` are its bytes over those of a `token` in all layers."""
    judgement = judged(estimated, asked.gpu, states=bool(unit.layers)) if estimated else None
    log, held = asked.log, blocks * unit.size * unit.slot_bytes
    return {
        "label": "reported" if log else "derived",
        "bytes": held,
        "usable_blocks": blocks,
        "num_gpu_blocks": blocks + 1,
        "tokens": held // token,
        "reported_tokens": log.tokens if log else None,
        "in_longest_requests": unit.in_longest(blocks, asked),
        **(judgement.report() if judgement else GIVEN),
        "terms": [term._asdict() for term in estimated.terms] if estimated else [],
        "log_lines": log.lines if log else [],
    }


def _fit(
    asked: Question, name: str, length: int, blocks: int, unit: Blocks, generated: float
) -> dict[str, Any]:
    """How many requests of one length fit, and what a step with all of them takes on average: each decodes,
    and the prompts of those that follow are computed beside."""
    if length < 1:
        raise ConfigError(f"a request of {length} tokens is none", hint="lengths count from 1")
    held = blocks // unit.needed(length, asked)
    at_once = min(held, asked.limits.seqs)
    report: dict[str, Any] = {
        "name": name,
        "tokens": length,
        "generated_share": round(generated, 4),
        "requests": held,
        "running": at_once,
    }
    if not at_once or not generated:
        return report | {
            "tpot_s": None,
            "output_tokens_per_s": None,
            "usd_per_million_tokens": None,
            "error": None,
        }
    cost = step_cost(asked.model, asked.gpu, asked.kv_dtype, tp=asked.tp, engine=asked.engine)
    context = round(at_once * length * (1 - generated / 2))
    prompts = round(at_once * (1 - generated) / generated)  # tokens a step: each generates one
    pairs = round(prompts * length * (1 - generated) / 2)
    step = seconds(cost.step(at_once, context, prompts, pairs))
    error = expected_error(asked.engine, asked.model, "each token", gpu=asked.gpu)
    usd = money.usd_per_million_tokens(
        money.rate(asked.gpu, asked.price), gpus=asked.tp, tokens_per_s=at_once / step
    )
    return report | {
        "tpot_s": round(step, 6),
        "output_tokens_per_s": round(at_once / step, 1),
        "usd_per_million_tokens": None if usd is None else round(usd, 4),
        "error": error and error.report(),
    }
