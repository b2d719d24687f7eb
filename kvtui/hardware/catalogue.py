"""Models and GPUs that kvtui knows: facts with their source, read from the data files of the package."""

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from kvtui.errors import ConfigError

DATA = Path(__file__).parents[1] / "data"
_Spec = TypeVar("_Spec", "ModelSpec", "GpuSpec")

WEIGHT_BITS = {"fp32": 32, "bf16": 16, "fp16": 16, "fp8": 8, "int8": 8, "fp4": 4, "int4": 4}
# Bits of a weight with its share of the scales; embeddings stay in 16 bits.
QUANTISED = {"int4": 4.25, "fp4": 4.5, "mxfp4": 4.25, "fp8": 8.0, "int8": 8.0}


class State(NamedTuple):
    """What a layer of linear attention keeps of a request: the last inputs of a convolution, 16 bits each,
    and a recurrent state."""

    channels: int  # of the convolution
    past: int  # inputs of it
    numbers: int  # of the recurrent state
    element: int  # bytes of such a number
    parts: int  # as many GPUs, or a divisor, share it evenly
    within: bool = False  # whether a step can save a state that it passes

    def bytes(self, tp: int, *, drafts: int = 0) -> int:
        """On one of `tp` GPUs, with what so many drafts need; `tp` divides `parts`."""
        return self.channels // tp * (self.past + drafts) * 2 + self.numbers // tp * self.element


class KvGroup(NamedTuple):
    """Layers of one kind of attention: full, sliding, chunked, mla, or linear (a state of fixed size)."""

    kind: str
    layers: int
    kv_heads: int = 0
    head_dim: int = 0
    window: int | None = None  # tokens a sliding or chunked layer looks back
    kv_lora_rank: int = 0
    qk_rope_head_dim: int = 0
    state: State | None = None  # of a linear layer, where it is known

    def kv_elements(self, tp: int) -> int:
        """Numbers that one GPU of `tp` stores for a token. An MLA latent is stored whole on each of them."""
        if self.kind == "linear":
            return 0
        if self.kind == "mla":
            return self.layers * (self.kv_lora_rank + self.qk_rope_head_dim)
        return self.layers * 2 * max(1, self.kv_heads // tp) * self.head_dim


class Experts(NamedTuple):
    """Experts of a mixture-of-experts model: how many a layer has and how many a token visits."""

    experts: int
    top_k: int
    intermediate: int | None  # width of one expert, where known


class ModelSpec(NamedTuple):
    """Shape of one model. `verified` is config, text or unverified (see data/models.json)."""

    id: str
    name: str
    short: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocab: int
    max_positions: int
    params_total: int
    params_active: int
    checkpoint_dtype: str
    kv_groups: tuple[KvGroup, ...]
    released: str
    source: str
    verified: str
    moe: Experts | None = None
    checkpoint_bytes: int | None = None  # where it is not parameters x dtype
    tied: bool = False  # whether input and output embedding are one matrix
    aliases: tuple[str, ...] = ()  # other models of the same shape
    note: str = ""
    left_out: tuple[str, ...] = ()  # what takes memory and is not in the weights
    assumed: str = ""  # of how its file was read, where that is not certain

    @property
    def label(self) -> str:
        """Short name and dtype of the weights, as in "Llama-3.1-8B bf16"."""
        return f"{self.short} {self.checkpoint_dtype}"

    def kv_bytes_per_token(self, *, kv_dtype_bytes: int = 2, tp: int = 1, beyond_window: bool = False) -> int:
        """KV bytes that one token takes on one of `tp` GPUs.

        Counted over every layer that grows with the context, which is what vLLM gives a token inside all
        windows. With `beyond_window` the layers with a window are left out: the marginal token of a
        context that has outgrown them.
        """
        groups = (group for group in self.kv_groups if not (beyond_window and group.window))
        return kv_dtype_bytes * sum(group.kv_elements(tp) for group in groups)

    @property
    def read_share(self) -> float:
        """Share of the weights that a step reads: all but the input embedding, of which it looks up rows."""
        return 1.0 if self.tied else 1 - self.vocab * self.hidden / self.params_total

    @property
    def gated(self) -> bool:
        """Whether an MLP has three matrices; two where three would be more than there are parameters."""
        three = self.layers * 3 * self.hidden * self.intermediate + self.layers * self.attention_params
        return self.moe is not None or three <= 1.02 * self.params_total

    @property
    def attention_params(self) -> int:
        """Parameters of the projections of one attention layer with separate heads."""
        return 2 * self.hidden * (self.heads + self.kv_heads) * self.head_dim

    def weight_bytes(self, dtype: str | None = None) -> int:
        """Bytes of the weights as published, or stored as `dtype` (a key of WEIGHT_BITS)."""
        published = dtype in (None, self.checkpoint_dtype)
        dtype = dtype or self.checkpoint_dtype
        if dtype == self.checkpoint_dtype and self.checkpoint_bytes is not None:
            return self.checkpoint_bytes
        if dtype not in WEIGHT_BITS:
            raise ConfigError(f'unknown weight type "{dtype}"', hint=f"known: {', '.join(WEIGHT_BITS)}")
        if published or dtype not in QUANTISED:
            return self.params_total * WEIGHT_BITS[dtype] // 8
        embeddings = self.vocab * self.hidden * (1 if self.tied else 2)
        return round((self.params_total - embeddings) * QUANTISED[dtype] / 8) + 2 * embeddings


class ExpertKernel(NamedTuple):
    """The kernel of all experts of a layer: what it takes whatever its size, and shares of the peaks."""

    floor_us: float
    mbu: float
    mfu: float


class Efficiency(NamedTuple):
    """Share of the peak that kernels reach on a GPU (see data/efficiency.json)."""

    id: str
    gemm_mfu: float
    gemm_mfu_fp8: float | None
    gemm_mbu: float
    prefill_mfu: float
    kv_mbu: float
    attention_floor_us: float  # fixed part of decode attention, a layer
    allreduce_us: dict[str, float] | None  # small all-reduce by number of GPUs
    gemm_mfu_fp4: float | None
    l2_bytes: int
    source: str
    experts: dict[str, ExpertKernel]  # by type of weights


class Price(NamedTuple):
    """Dollars per GPU hour, an example of the date `as_of` for the user to replace."""

    low: float
    high: float
    as_of: str
    basis: str


class GpuSpec(NamedTuple):
    """One accelerator: bytes, bytes/s and dense FLOP/s. `verified` is spec, partly or unverified."""

    id: str
    name: str
    label: str
    arch: str
    memory_bytes: int  # what the driver reports, not the marketing figure
    bandwidth: int
    bf16_flops: int
    fp8_flops: int | None
    link: int | None  # GPU to GPU, one way
    pcie: int | None
    usd_per_hour: Price | None
    efficiency: Efficiency
    source: str
    verified: str
    fp4_flops: int | None = None
    note: str = ""


def model(id: str) -> ModelSpec:
    """The model of that id (case does not matter). Raises ConfigError that names the nearest ids."""
    return _find("model", id, _models())


def gpu(id: str) -> GpuSpec:
    """The GPU of that id (case does not matter). Raises ConfigError that names the nearest ids."""
    return _find("GPU", id, _gpus())


def models() -> tuple[ModelSpec, ...]:
    """All models, families together."""
    return tuple(_models().values())


def gpus() -> tuple[GpuSpec, ...]:
    """All GPUs, oldest first within a maker."""
    return tuple(_gpus().values())


def nearest(id: str, known: Iterable[str]) -> str:
    """A hint for a name that does not exist: the nearest ones, or all if none is near."""
    from difflib import get_close_matches

    known = list(known)
    close = [name for name in known if id and name.startswith(id.lower())][:3]
    close = close or get_close_matches(id.lower(), known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known)}"


def _find(what: str, id: str, known: dict[str, _Spec]) -> _Spec:
    found = known.get(id.lower())
    if found is None:
        raise ConfigError(f'unknown {what} "{id}"', hint=nearest(id, known))
    return found


def origins(name: str) -> dict[str, str]:
    """What `verified` can say of `models` or `gpus`, and what it means: where the figures are from."""
    said: dict[str, str] = _file(name)["verified"]
    return said


def _rows(name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = _file(name)[name]
    return rows


def _file(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text("utf-8"))
    return data


@cache
def _models() -> dict[str, ModelSpec]:
    return {row["id"]: _model(row) for row in _rows("models")}


def _model(row: dict[str, Any]) -> ModelSpec:
    groups = tuple(_group(**group) for group in row.pop("kv_groups"))
    moe = row.pop("moe", None)
    experts = Experts(moe["experts"], moe["top_k"], moe.get("moe_intermediate")) if moe else None
    aliases, left_out = (tuple(row.pop(name, ())) for name in ("aliases", "left_out"))
    return ModelSpec(kv_groups=groups, moe=experts, aliases=aliases, left_out=left_out, **row)


def _group(*, state: dict[str, Any] | None = None, **fields: Any) -> KvGroup:
    return KvGroup(**fields, state=State(**state) if state else None)


@cache
def _gpus() -> dict[str, GpuSpec]:
    efficiency = {row["id"]: _efficiency(row) for row in _rows("efficiency")}
    return {row["id"]: _gpu(row, efficiency) for row in _rows("gpus")}


def _efficiency(row: dict[str, Any]) -> Efficiency:
    experts = {dtype: ExpertKernel(*values) for dtype, values in row.pop("experts", {}).items()}
    return Efficiency(experts=experts, **row)


def _gpu(row: dict[str, Any], efficiency: dict[str, Efficiency]) -> GpuSpec:
    price = row.pop("usd_per_hour")
    reached = efficiency[row.pop("efficiency")]
    return GpuSpec(usd_per_hour=Price(**price) if price else None, efficiency=reached, **row)
