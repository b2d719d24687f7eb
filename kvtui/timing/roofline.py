"""Step-time models in integer picoseconds: an analytic one from the catalogue, and a linear one.

The analytic form is a roofline: a step reads all weights once or computes on all its tokens, whichever takes
longer, plus a part of the other; it reads the KV of its decodes; prompts pay for their attention; GPUs that
share a model exchange sums; every layer, request and step has a fixed price. Integers make k equal steps cost
exactly k times one step.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.timing.coefficients import DEFAULT_ENGINE, EngineProfile, Forms, forms
from kvtui.timing.coefficients import engine as profile
from kvtui.timing.kernels import (
    EXPERT_BITS,
    NCCL_FROM,
    Linear,
    allreduce,
    expert_kernel,
    expert_layer,
    kv_rate,
    linear,
    prompt_pair,
)
from kvtui.units import picoseconds

_SHORT_WINDOW = 1024  # tokens
_PERCENT = 100
_MLP_KERNELS = 2 / 9  # of the small kernels of a layer: experts take three over, and their router adds one


class LinearCost(NamedTuple):
    """A step costs `base`, plus `per_prefill` a prompt token, plus `per_decode` a decode, all in ps.

    The default is what BLIS (inference-sim) publishes for Llama-3.1-8B on one H100:
    5.75 ms, 17.3 us and 6.0 us.
    """

    base: int = 5_750_000_000
    per_prefill: int = 17_300_000
    per_decode: int = 6_000_000

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        """See `CostModel.step`; contexts do not matter here."""
        return self.base + decodes * self.per_decode + prefill * self.per_prefill

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        """See `CostModel.leap`."""
        return steps * (self.base + decodes * self.per_decode)


@dataclass(frozen=True, slots=True)
class RooflineCost:
    """Analytic step time; coefficients in ps.

    The experts of a mixture are kernels of their own beside `dense`, which read those that the tokens of a
    step visit if they choose at random. With a constant batch the time is linear in the context, windows or
    not: a short window is read whole by every decode, layers with a longer one are read like those without.
    """

    fixed: int  # base, layers (launches and small kernels), small all-reduces
    sequence: int  # a decode: host time, and short windows
    dense: int  # weights that every step reads
    experts: tuple[int, ...]  # weights of the experts that so many tokens visit; () without experts
    token: int  # arithmetic of the linear layers, experts left out, a token
    touch: int  # element-wise kernels, and arithmetic of the experts, a token
    overlap: int  # per cent of the shorter of reading and computing that the longer does not hide
    link: tuple[
        int, int, int, int
    ]  # all-reduce: a token, at most, tokens from which it is NCCL's, a token then
    kv_token: int  # reading one stored token
    pair: int  # arithmetic of one (query, key) pair of a prompt
    prompt_token: int  # further keys of a prompt token
    _known: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        model: ModelSpec,
        gpu: GpuSpec,
        *,
        tp: int = 1,
        kv_dtype_bytes: float = 2,
        engine: EngineProfile | None = None,
        software: str = DEFAULT_ENGINE,
        constants: Forms | None = None,
    ) -> RooflineCost:
        """The model as published on `tp` GPUs under an engine (default: vLLM of today), a profile of the
        server `software`."""
        k, e = constants or forms(), engine or profile(DEFAULT_ENGINE)
        experts = _experts(model, gpu, tp, software)
        layers = _linear(model, gpu, k, tp, experts)
        kv_second = kv_rate(gpu, k, kv_bytes=kv_dtype_bytes) * e.attention / kv_dtype_bytes  # elements
        short = [g for g in model.kv_groups if g.window and g.window <= _SHORT_WINDOW]
        windows = sum(g.kv_elements(tp) * (g.window or 0) for g in short)
        growing = sum(g.kv_elements(tp) for g in model.kv_groups if g not in short)
        attention = sum(g.layers for g in model.kv_groups if g.kind != "linear")
        pair = attention * prompt_pair(model, gpu, k, tp=tp, kv_bytes=kv_dtype_bytes) / e.attention
        start, link = _link(model, gpu, k, tp)
        small = model.layers * e.layer_us * (1 - _MLP_KERNELS if experts.read else 1)
        host = (e.base_us + small) * 1e-6
        return cls(
            fixed=picoseconds(host + start + experts.floor),
            sequence=picoseconds(e.sequence_us * 1e-6 + windows / kv_second),
            dense=picoseconds(layers.read / e.memory),
            experts=_visited(picoseconds(experts.read / e.memory), experts.top),
            token=picoseconds(layers.token / e.gemm_compute),
            touch=picoseconds(layers.touch * e.touch + experts.token / (k.gemm_compute * e.gemm_compute)),
            overlap=round(_PERCENT * k.overlap),
            link=link,
            kv_token=picoseconds(growing / kv_second),
            pair=picoseconds(pair),
            prompt_token=picoseconds(pair * k.tile_tokens),
        )

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        """See `CostModel.step`."""
        kv = decode_context * self.kv_token
        prompts = prefill * self.prompt_token + prefill_pairs * self.pair
        tokens = decodes + prefill
        linear = self._known.get(tokens)
        if linear is None:  # a look-up takes half of the bytecodes of a step's time (92 to 42)
            linear = self._known[tokens] = self._linear(tokens)
        return linear + decodes * self.sequence + kv + prompts

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        """See `CostModel.leap`: the batch is constant, the context an arithmetic series."""
        read = steps * decode_context + decodes * (steps * (steps - 1) // 2)
        return steps * (self._linear(decodes) + decodes * self.sequence) + read * self.kv_token

    def _linear(self, tokens: int) -> int:
        compute = tokens * self.token
        longer, shorter = (self.dense, compute) if self.dense > compute else (compute, self.dense)
        a_token, most, large, a_large_token = self.link
        link = min(tokens * a_token, most) if tokens < large else most + (tokens - large) * a_large_token
        beside = self.experts[min(tokens, len(self.experts) - 1)] if self.experts else 0
        return self.fixed + longer + shorter * self.overlap // _PERCENT + tokens * self.touch + beside + link


class _Experts(NamedTuple):
    """All expert layers of a model, in seconds as `ExpertLayer`, and what they are of it."""

    floor: float = 0.0
    read: float = 0.0
    token: float = 0.0
    top: float = 0.0  # share of the experts that a token visits
    params: float = 0.0
    stored: float = 0.0  # bytes


def _experts(model: ModelSpec, gpu: GpuSpec, tp: int, software: str) -> _Experts:
    """From active = dense + experts x top_k / number and total = dense + experts."""
    if model.moe is None or model.moe.top_k == model.moe.experts:  # a token that visits all: a dense model
        return _Experts()
    top = model.moe.top_k / model.moe.experts
    params = (model.params_total - model.params_active) / (1 - top)
    dtype, kernel = expert_kernel(gpu, model.checkpoint_dtype, software)
    layer = expert_layer(gpu, kernel, dtype=dtype, params=params / model.layers, top=top, tp=tp)
    stored = params * EXPERT_BITS.get(model.checkpoint_dtype, 16) / 8
    return _Experts(
        floor=model.layers * layer.floor,
        read=model.layers * layer.read,
        token=model.layers * layer.token,
        top=top,
        params=params,
        stored=stored,
    )


def _linear(model: ModelSpec, gpu: GpuSpec, k: Forms, tp: int, experts: _Experts) -> Linear:
    """All linear layers but the experts; a step looks up the input embedding and does not read it."""
    looked_up = (1 - model.read_share) * model.params_total
    params = model.params_active - experts.params * experts.top - looked_up
    stored, read = model.weight_bytes(), model.weight_bytes() * model.read_share
    least = params * stored / model.params_total  # of quantized experts the rest is in 16 bits
    read = max(read - experts.stored, least)
    return linear(model, gpu, k, tp=tp, weight_bytes=read, params=params, layers=model.layers)


def _visited(experts: int, top: float) -> tuple[int, ...]:
    """Time to read the experts that 0, 1, 2, ... tokens visit together, up to all of them."""
    if not experts:
        return ()
    visited, unseen = [0], experts
    while unseen * 1000 > experts:
        unseen -= max(int(unseen * top), 1)
        visited.append(experts - unseen)
    return (*visited, experts)


def _link(model: ModelSpec, gpu: GpuSpec, k: Forms, tp: int) -> tuple[float, tuple[int, int, int, int]]:
    """Seconds of a step's all-reduces (two a layer) whatever its size; the rest as `RooflineCost.link`."""
    if tp == 1:
        return 0.0, (0, 0, 1, 0)
    one, count, token = allreduce(gpu, k, tp=tp), 2 * model.layers, model.hidden * 2
    most = max(one.seconds(NCCL_FROM) - one.start, 0.0)
    a_token, a_large_token = (picoseconds(count * token * x) for x in (one.byte, one.large_byte))
    return count * one.start, (a_token, picoseconds(count * most), NCCL_FROM // token, a_large_token)
