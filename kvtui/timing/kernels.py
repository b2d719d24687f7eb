"""How long kernels take on a GPU, in seconds: linear layers, attention, all-reduce.

Each is a short formula over what the kernel must move and compute, with the efficiencies of the catalogue
(medians of tables that NVIDIA's aiconfigurator measured) and the constants of `Forms`.
"""

from typing import NamedTuple

from kvtui.hardware.catalogue import WEIGHT_BITS, ExpertKernel, GpuSpec, ModelSpec
from kvtui.timing.coefficients import Forms

MIB = 2**20
NCCL_FROM = 8 * MIB  # vLLM's own all-reduce stops here
_NORM_PASSES = 16  # times the hidden vector goes through memory in the norms and additions of a layer
_MLP_PASSES = 3
_HEAD_PASSES = 4  # rotary embedding
_PASS_MEMORY = 0.8  # share of the bandwidth that element-wise kernels reach
_PCIE_START_US = {2: 5.1, 4: 14.9, 8: 27.5}  # small all-reduce where none was measured: between RTX PRO 6000
_SWITCHED = ("Hopper", "Blackwell", "Blackwell Ultra")  # whose NVSwitches add up: NCCL's NVLS
_BOARD = 8  # GPUs on one board with NVSwitches
_SLOWEST_LINK = 16e9
EXPERT_BITS = WEIGHT_BITS | {"fp4": 4.5, "mxfp4": 4.25}  # the scales of small blocks counted in
_INSTEAD = {"fp4": "mxfp4", "mxfp4": "fp4", "int4": "mxfp4"}
UNMEASURED = ExpertKernel(35.0, 0.8, 0.4)  # of GPUs without a table: about what Hopper's reach


class Linear(NamedTuple):
    """Linear layers of a share of the model, with what goes with them element by element.

    Their size enters by the overlap of reading and computing alone; shares of a peak are those of many rows.
    """

    read: float  # s: all the weights once
    token: float  # s a token: arithmetic
    touch: float  # s a token: element-wise kernels
    floor: float  # s, whatever the size

    def seconds(self, tokens: int, overlap: float) -> float:
        """A step of so many tokens."""
        compute = tokens * self.token
        longer, shorter = max(self.read, compute), min(self.read, compute)
        return self.floor + longer + overlap * shorter + tokens * self.touch


def linear(
    model: ModelSpec, gpu: GpuSpec, forms: Forms, *, tp: int, weight_bytes: float, params: float, layers: int
) -> Linear:
    """`layers` layers with `weight_bytes` to read and `params` to multiply a token by, over `tp` GPUs."""
    reached = gpu.efficiency
    flops, share = _arithmetic(model.checkpoint_dtype, gpu)
    split = (
        _MLP_PASSES * model.intermediate + _HEAD_PASSES * (model.heads + model.kv_heads) * model.head_dim
    ) / tp
    touched = 2 * layers * (_NORM_PASSES * model.hidden + split)
    return Linear(
        read=weight_bytes / tp / (gpu.bandwidth * reached.gemm_mbu * forms.gemm_memory),
        token=2 * params / tp / (flops * share * forms.gemm_compute),
        touch=touched / (gpu.bandwidth * _PASS_MEMORY),
        floor=layers * forms.layer_floor_us * 1e-6,
    )


def one_layer(model: ModelSpec, gpu: GpuSpec, forms: Forms, *, tp: int) -> Linear:
    """The linear layers of one block of a model without experts."""
    matrices = 3 if model.gated else 2
    params = model.attention_params + matrices * model.hidden * model.intermediate
    bits = WEIGHT_BITS.get(model.checkpoint_dtype, 16)
    return linear(model, gpu, forms, tp=tp, weight_bytes=params * bits / 8, params=params, layers=1)


class ExpertLayer(NamedTuple):
    """The experts of one layer; a step takes the fixed time, reads those it visits and computes, in turn."""

    floor: float  # s, whatever the size
    read: float  # s: all of them once
    token: float  # s a token: arithmetic


def expert_layer(
    gpu: GpuSpec, kernel: ExpertKernel, *, dtype: str, params: float, top: float, tp: int
) -> ExpertLayer:
    """A layer whose experts have `params` together, of which a token takes the share `top`, on `tp` GPUs."""
    stored = params * EXPERT_BITS.get(dtype, 16) / 8 / tp
    flops = {"fp8": gpu.fp8_flops, "fp4": gpu.fp4_flops}.get(dtype) or gpu.bf16_flops
    return ExpertLayer(
        floor=kernel.floor_us * 1e-6,
        read=stored / (gpu.bandwidth * kernel.mbu),
        token=2 * params * top / tp / (flops * kernel.mfu),
    )


def expert_kernel(gpu: GpuSpec, dtype: str, software: str = "vllm") -> tuple[str, ExpertKernel]:
    """The kernel that was measured for weights of that type or, where none was, another one's; its type.

    That of the server `software` is taken where it was measured apart, else vLLM's.
    """
    measured = gpu.efficiency.experts
    for known in (dtype, _INSTEAD.get(dtype, ""), "bf16"):
        if f"{software} {known}" in measured:
            return known, measured[f"{software} {known}"]
        if known in measured:
            return known, measured[known]
    return dtype, UNMEASURED


def _arithmetic(dtype: str, gpu: GpuSpec) -> tuple[float, float]:
    """FLOP/s of the GPU for weights of that type, and the share that matrix products reach."""
    reached = gpu.efficiency
    if dtype == "fp4" and gpu.fp4_flops and reached.gemm_mfu_fp4:
        return gpu.fp4_flops, reached.gemm_mfu_fp4
    if dtype == "fp8" and gpu.fp8_flops and reached.gemm_mfu_fp8:
        return gpu.fp8_flops, reached.gemm_mfu_fp8
    return gpu.bf16_flops, reached.gemm_mfu


def prompt_pair(model: ModelSpec, gpu: GpuSpec, forms: Forms, *, tp: int, kv_bytes: float = 2) -> float:
    """Seconds of one (query, key) pair of a prompt in one layer."""
    share = gpu.efficiency.prefill_mfu * forms.prefill_compute * (forms.prefill_fp8_kv if kv_bytes < 2 else 1)
    return 4 * model.heads * model.head_dim / tp / (gpu.bf16_flops * share)


def prompt_attention(pair: float, gpu: GpuSpec, forms: Forms, *, tokens: int, pairs: float) -> float:
    """Attention of one layer over prompts of `tokens` together."""
    floor = gpu.efficiency.attention_floor_us * forms.prefill_floor * 1e-6
    return floor + (pairs + forms.tile_tokens * tokens) * pair


def kv_rate(gpu: GpuSpec, forms: Forms, *, kv_bytes: float = 2) -> float:
    """Bytes of KV that decode attention reads in a second."""
    share = forms.decode_memory * (forms.decode_fp8_kv if kv_bytes < 2 else 1)
    return gpu.bandwidth * gpu.efficiency.kv_mbu * share


def decode_attention(gpu: GpuSpec, forms: Forms, *, kv: float, kv_bytes: float = 2) -> float:
    """One layer alone, again and again over the same `kv` bytes: half of the cache of the GPU keeps some."""
    near = min(kv, gpu.efficiency.l2_bytes / 2)
    floor = gpu.efficiency.attention_floor_us * forms.decode_floor * 1e-6
    return floor + (kv - near + near / forms.l2_gain) / kv_rate(gpu, forms, kv_bytes=kv_bytes)


class AllReduce(NamedTuple):
    """One all-reduce: `start`, and more a byte; from NCCL_FROM bytes on another implementation."""

    start: float
    byte: float
    large_start: float
    large_byte: float

    def seconds(self, size: float) -> float:
        """Of `size` bytes; never less than for fewer."""
        if size >= NCCL_FROM:
            return self.large_start + size * self.large_byte
        return min(self.start + size * self.byte, self.large_start + NCCL_FROM * self.large_byte)


def allreduce(gpu: GpuSpec, forms: Forms, *, tp: int) -> AllReduce:
    """Over `tp` GPUs of one machine, which each send 2 (tp - 1) / tp times the size.

    Where switches add up what all GPUs of a board send, each sends it once.
    """
    link = gpu.link or gpu.pcie or _SLOWEST_LINK
    measured = (gpu.efficiency.allreduce_us or {}).get(str(tp))
    traffic = 2 * (tp - 1) / tp / link
    added_up = tp == _BOARD and gpu.arch in _SWITCHED and link > (gpu.pcie or 0)
    return AllReduce(
        start=(measured or _PCIE_START_US.get(tp, _PCIE_START_US[_BOARD])) * 1e-6,
        byte=traffic / forms.allreduce_small,
        large_start=forms.allreduce_large_us * 1e-6,
        large_byte=(1 / link if added_up else traffic) / forms.allreduce_large,
    )
