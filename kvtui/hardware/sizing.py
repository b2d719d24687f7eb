"""How many KV blocks a GPU has room for, by vLLM's own sum: what it may use, less all that is not KV.

vLLM measures what is not KV when it starts; nobody can compute it exactly from a model card. `startup` has
the estimates, `measuredpools` how far off they were on servers that others started.
"""

from math import ceil
from typing import NamedTuple

from kvtui.errors import ConfigError, DoesNotFit
from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.hardware.kvtypes import token_bytes
from kvtui.hardware.startup import (
    GIB,
    activation_bytes,
    captured_graphs,
    context_bytes,
    default_utilization,
    graph_bytes,
)
from kvtui.serving.rules import NEWEST

_ROTARY_BYTES = 2


class BatchLimits(NamedTuple):
    """What vLLM lets into one step unless told otherwise."""

    tokens: int  # max_num_batched_tokens
    seqs: int  # max_num_seqs


STATES = "states of the linear-attention layers"
MOST_BLOCKS = 20_000_000  # of a pool that is given; each is an entry of a list


class Term(NamedTuple):
    """One line of the sum. What is taken away is negative."""

    name: str
    bytes: int
    how: str  # how the figure is known


class Pool(NamedTuple):
    """KV memory of one GPU. `terms` add up to the bytes left for KV, of which blocks use whole multiples."""

    blocks: int  # usable: vLLM's num_gpu_blocks counts its null block, this does not
    block_size: int  # tokens
    block_bytes: int
    terms: tuple[Term, ...]
    left_out: tuple[str, ...]  # what takes memory too and has no estimate

    @property
    def bytes(self) -> int:
        """Bytes of the usable blocks."""
        return self.blocks * self.block_bytes

    @property
    def tokens(self) -> int:
        """Tokens that the usable blocks hold."""
        return self.blocks * self.block_size

    @property
    def upper_bound(self) -> bool:
        """Whether the true pool is smaller, because something was left out."""
        return bool(self.left_out)


def batch_limits(gpu: GpuSpec) -> BatchLimits:
    """Defaults of vLLM's server by GPU memory (vLLM 0.32; the A100 counts as small)."""
    if gpu.memory_bytes >= 160 * GIB:
        return BatchLimits(16384, 1024)
    if gpu.memory_bytes >= 70 * GIB and not gpu.id.startswith("a100"):
        return BatchLimits(8192, 1024)
    return BatchLimits(2048, 256)


def pool(
    model: ModelSpec,
    gpu: GpuSpec,
    *,
    block_size: int = 16,
    utilization: float | None = None,
    tp: int = 1,
    dtype: str | None = None,
    kv_dtype: str = "auto",
    limits: BatchLimits | None = None,
    vllm: str = NEWEST,
    drafter: ModelSpec | None = None,
    slot_bytes: int | None = None,
) -> Pool:
    """KV pool of one of `tp` GPUs that share `model` stored as `dtype` (default: as published), KV as
    `kv_dtype`, by what a vLLM release takes off; `utilization` is that release's own unless it is given.
    A `drafter` is shared by the same GPUs: its weights lie beside, its K and V in the same blocks. A slot of
    a block takes `slot_bytes` where that is not a token in all layers.

    Raises DoesNotFit with the shortfall when not even one usable block is left, ConfigError for an option
    that makes no sense.
    """
    if utilization is None:
        utilization = default_utilization(vllm)
    _check(block_size=block_size, utilization=utilization, tp=tp)
    if slot_bytes is None:
        slot_bytes = token_bytes(model, kv_dtype, tp=tp) + drafter_bytes(drafter, kv_dtype, tp=tp)
    block_bytes = block_size * slot_bytes
    if not block_bytes:
        raise ConfigError(f"no layer of {model.label} keeps K and V")
    terms = _terms(model, gpu, utilization, tp, dtype, limits or batch_limits(gpu), vllm)
    if drafter is not None:
        terms = (*terms, Term("weights of the drafter", -drafter.weight_bytes() // tp, drafter.label))
    left = sum(term.bytes for term in terms)
    blocks = left // block_bytes - 1
    if blocks < 1:
        raise _does_not_fit(model, gpu, tp, terms, 2 * block_bytes - left)
    return Pool(blocks, block_size, block_bytes, terms, _left_out(model))


def drafter_bytes(drafter: ModelSpec | None, kv_dtype: str = "auto", *, tp: int = 1) -> int:
    """Bytes of K and V of one token that a drafter stores on one of `tp` GPUs; 0 without one."""
    return 0 if drafter is None else token_bytes(drafter, kv_dtype, tp=tp)


def check_given(blocks: int, pool_from: str) -> None:
    """Raises ConfigError for a given pool of more blocks than can be simulated; `pool_from` said its size."""
    if blocks > MOST_BLOCKS:
        raise ConfigError(
            f"the pool has more than the {MOST_BLOCKS:,} blocks that can be simulated",
            hint=f"is that what {pool_from} says?" if pool_from else "fewer --blocks",
        )


def _check(*, block_size: int, utilization: float, tp: int) -> None:
    if block_size < 1:
        raise ConfigError(f"block size must be at least 1 token, not {block_size}", hint="16 is usual")
    if not 0 < utilization <= 1:
        raise ConfigError(f"GPU memory utilisation must be above 0 and at most 1, not {utilization}")
    if tp < 1:
        raise ConfigError(f"at least 1 GPU is needed, not {tp}")


def _terms(
    model: ModelSpec,
    gpu: GpuSpec,
    utilization: float,
    tp: int,
    dtype: str | None,
    limits: BatchLimits,
    vllm: str,
) -> tuple[Term, ...]:
    requested = ceil(gpu.memory_bytes * utilization)
    weights = -(-model.weight_bytes(dtype) // tp)
    rotary = model.max_positions * model.head_dim * _ROTARY_BYTES
    activations = activation_bytes(model, tokens=limits.tokens, seqs=limits.seqs, vllm=vllm)
    context = context_bytes(gpu, tp=tp, vllm=vllm)
    graphs = graph_bytes(model, seqs=limits.seqs, vllm=vllm)
    terms = (
        Term(
            "memory it may use",
            requested,
            f"{utilization:g} of {gpu.memory_bytes / GIB:.1f} GiB that its driver reports",
        ),
        Term("weights", -weights, _whose_parameters(model)),
        Term("rotary table", -rotary, "positions x head size"),
        Term("activations", -activations, f"estimated for {limits.tokens:,} tokens a step"),
        Term("context and libraries", -context, "as seen in logs"),
    )
    if not graphs:
        return terms
    how = f"estimated: {captured_graphs(limits.seqs)} graphs of {model.layers} layers"
    return (*terms, Term("CUDA graphs", -graphs, how))


def _whose_parameters(model: ModelSpec) -> str:
    # the catalogue dates its models, a config.json does not
    return f"parameters of {'the catalogue' if model.released else 'its own config.json'}"


def _left_out(model: ModelSpec) -> tuple[str, ...]:
    left_out = [*model.left_out, *(["buffers of the experts"] if model.moe else [])]
    if any(group.kind == "linear" for group in model.kv_groups):
        left_out.append(STATES)
    return tuple(left_out)


def _does_not_fit(
    model: ModelSpec, gpu: GpuSpec, tp: int, terms: tuple[Term, ...], shortfall: int
) -> DoesNotFit:
    cards = f"{tp} x {gpu.label}" if tp > 1 else gpu.label
    return DoesNotFit(
        f"{model.label} does not fit on {cards}: {-terms[1].bytes / GIB:.1f} GiB of weights a GPU and what "
        f"runs them need {shortfall / GIB:.1f} GiB more than the {terms[0].bytes / GIB:.1f} GiB there are",
        hint="take more or larger GPUs, or weights of fewer bits",
    )
