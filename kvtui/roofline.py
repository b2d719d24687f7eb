"""Step-time models in integer picoseconds: an analytic one from the catalogue, and a linear one.

The analytic form is a roofline: a step reads all weights once or computes on all its tokens, whichever takes
longer; it reads the KV of its decodes; prompts pay for their attention; every layer, request and step has a
fixed price. Integers make k equal steps cost exactly k times one step.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.catalogue import GpuSpec, ModelSpec
from kvtui.units import picoseconds

# Host and launch times of a vLLM with CUDA graphs, set on the 16 closed-loop rows of Llama-3.1-70B FP8 on
# 2 and 4 H100 in aiconfigurator-core 0.12.0: there the median error is 3 %.
_BASE_S = 0.5e-3
_LAYER_S = 20e-6  # without the fixed part of decode attention, which the GPU's efficiency row has
_SEQUENCE_S = 30e-6
_SHORT_WINDOW = 1024  # tokens
_LINK_EFFICIENCY = 0.65  # large all-reduce; 64 to 70 % of one-way NVLink in the same tables
_SMALL_ALLREDUCE_S = 30e-6  # where it was not measured: through PCIe


@dataclass(frozen=True, slots=True)
class LinearCost:
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

    A mixture of experts reads `dense` once and `expert_token` for each token until all of `experts` are read.
    With a constant batch the time is linear in the context, windows or not: a short window is read whole by
    every decode, layers with a longer one are read like those without.
    """

    fixed: int  # base, layers, small all-reduces
    sequence: int  # a decode: host time, and short windows
    dense: int  # weights that every step reads
    experts: int
    expert_token: int
    token: int  # arithmetic of the linear layers, a token
    link_token: int  # all-reduce traffic, a token
    kv_token: int  # reading one stored token
    pair: int  # arithmetic of one (query, key) pair of a prompt

    @classmethod
    def of(cls, model: ModelSpec, gpu: GpuSpec, *, tp: int = 1, kv_dtype_bytes: int = 2) -> RooflineCost:
        """The model as published on `tp` GPUs, with the efficiencies of the catalogue."""
        reached = gpu.efficiency
        flops = gpu.bf16_flops * reached.gemm_mfu
        if model.checkpoint_dtype == "fp8" and gpu.fp8_flops and reached.gemm_mfu_fp8:
            flops = gpu.fp8_flops * reached.gemm_mfu_fp8
        weights = model.weight_bytes() / tp / (gpu.bandwidth * reached.gemm_mbu)
        experts, top = _expert_share(model)
        kv_second = gpu.bandwidth * reached.kv_mbu / kv_dtype_bytes  # KV elements read in a second
        short = [g for g in model.kv_groups if g.window and g.window <= _SHORT_WINDOW]
        windows = sum(g.kv_elements(tp) * (g.window or 0) for g in short)
        growing = sum(g.kv_elements(tp) for g in model.kv_groups if g not in short)
        attention_layers = sum(g.layers for g in model.kv_groups if g.kind != "linear")
        pair_flops = 4 * model.heads * model.head_dim * attention_layers / tp
        allreduce, link_token = _allreduce(model, gpu, tp)
        layer = _LAYER_S + reached.attention_floor_us * 1e-6
        return cls(
            fixed=picoseconds(_BASE_S + model.layers * layer + allreduce),
            sequence=picoseconds(_SEQUENCE_S + windows / kv_second),
            dense=picoseconds(weights * (1 - experts)),
            experts=picoseconds(weights * experts),
            expert_token=picoseconds(weights * experts * top),
            token=picoseconds(2 * model.params_active / tp / flops),
            link_token=picoseconds(link_token),
            kv_token=picoseconds(growing / kv_second),
            pair=picoseconds(pair_flops / (gpu.bf16_flops * reached.prefill_mfu)),
        )

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        """See `CostModel.step`."""
        kv = decode_context * self.kv_token
        return self._linear(decodes + prefill) + decodes * self.sequence + kv + prefill_pairs * self.pair

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        """See `CostModel.leap`: the batch is constant, the context an arithmetic series."""
        read = steps * decode_context + decodes * (steps * (steps - 1) // 2)
        return steps * (self._linear(decodes) + decodes * self.sequence) + read * self.kv_token

    def _linear(self, tokens: int) -> int:
        weights = self.dense
        if self.experts:
            weights += min(self.experts, tokens * self.expert_token)
        return self.fixed + max(weights, tokens * self.token) + tokens * self.link_token


def _expert_share(model: ModelSpec) -> tuple[float, float]:
    """Share of the weights that are experts, and share of the experts that one token visits.

    From active = dense + experts x top_k / number and total = dense + experts.
    """
    if model.moe is None:
        return 0.0, 0.0
    top = model.moe.top_k / model.moe.experts
    return (model.params_total - model.params_active) / (1 - top) / model.params_total, top


def _allreduce(model: ModelSpec, gpu: GpuSpec, tp: int) -> tuple[float, float]:
    """Seconds of a step's all-reduces (two a layer) whatever its size, and seconds more a token."""
    if tp == 1:
        return 0.0, 0.0
    count = 2 * model.layers
    measured = (gpu.efficiency.allreduce_us or {}).get(str(tp)) if gpu.link else None
    small = measured * 1e-6 if measured else _SMALL_ALLREDUCE_S
    traffic = model.hidden * 2 * 2 * (tp - 1) / tp
    return count * small, count * traffic / ((gpu.link or gpu.pcie or 16e9) * _LINK_EFFICIENCY)
