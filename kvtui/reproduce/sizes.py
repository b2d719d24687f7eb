"""Sizes that follow from shapes alone: pools in tokens, FP8, MLA, page groups."""

from __future__ import annotations

from kvtui.hardware import catalogue
from kvtui.reproduce.batches import PAPER
from kvtui.reproduce.entry import Entry, named
from kvtui.reproduce.settings import Settings

GIB = 1 << 30
KIB, MIB = 1 << 10, 1 << 20

# Of PagedAttention's Table 1: GiB of KV memory and thousands of slots as printed, rounding of the GiB.
_TABLE1 = {"opt-13b": (12, 15.7, 0.0), "opt-66b": (21, 9.7, 2.4), "opt-175b": (264, 60.1, 0.0)}


def table1(settings: Settings) -> list[Entry]:
    """KV slots from KV bytes: 2 x hidden x layers x 2 B a token."""
    entries = []
    for name, (gib, thousands, rounding) in _TABLE1.items():
        ours = gib * GIB / catalogue.model(name).kv_bytes_per_token() / 1000
        note = "tolerance: what rounding of the printed figures explains"
        entries.append(Entry(name, thousands, ours, rounding + 50 / thousands / 10, note=note))
    return named("pagedattention.table1", entries, source=f"{PAPER}, Table 1, thousands of KV slots")


def fp8(settings: Settings) -> list[Entry]:
    """FP8 halves the bytes of a token, so the same memory holds twice the tokens."""
    model = catalogue.model("qwen3-30b-a3b")
    full, half = (model.kv_bytes_per_token(kv_dtype_bytes=size) for size in (2, 1))
    pool = 10.55 * GIB
    entries = [
        Entry("tokens", 230_528, pool // half // 16 * 16, 0.5, note="10.55 GiB, Qwen3-30B-A3B"),
        Entry("ratio", 2.0, full / half, 0.0),
    ]
    return named("vllm.fp8", entries, source="vLLM issue 25350, start-up log")


def mla(settings: Settings) -> list[Entry]:
    """A latent is stored whole on every GPU: tensor parallelism does not divide it."""
    a_token = catalogue.model("deepseek-v3").kv_bytes_per_token(tp=8)
    entries = [
        Entry("bytes_a_token", 70_272, a_token, 0.0),
        Entry("tokens", 635_648, 41.60 * GIB // a_token, 0.1, note="41.60 GiB on each of 8 GPUs"),
    ]
    return named("vllm.mla", entries, source="vLLM start-up log of DeepSeek-R1, TP 8")


def page_groups(settings: Settings) -> list[Entry]:
    """vAttention backs K and V of each layer with pages: tokens a page, and what half a page each costs."""
    row = 4 * 128 * 2  # bytes of one token's K (or V) of a layer: 4 KV heads a GPU, head size 128, fp16
    tokens = [
        Entry("page_64k.tokens", 64, 64 * KIB / row, 0.0, note="Yi-6B on one GPU, Llama-3-8B on two"),
        Entry("page_2m.tokens", 2048, 2 * MIB / row, 0.0),
    ]
    source = "vAttention (ASPLOS 2025), Table 8 and Fig. 15"
    return named("vattention", [*tokens, *_batches(row)], source=source)


# Of vAttention's Fig. 15: layers, and largest batches with pages of 64 KiB and of 2 MiB.
_FIG15 = {"yi-6b": (32, 240, 187), "llama-3-8b": (32, 258, 203), "yi-34b": (60, 68, 56)}


def _batches(row: int) -> list[Entry]:
    """Half a page is empty in each of 2 x layers places of a sequence. The mean context is not published: it
    is what Yi-6B's two batches say, and the other two models are predicted."""
    layers, small, large = _FIG15["yi-6b"]
    waste = [2 * layers * page / 2 for page in (64 * KIB, 2 * MIB)]
    ratio = small / large
    context = (waste[1] - ratio * waste[0]) / (ratio - 1) / (2 * layers * row)  # tokens
    entries = []
    for name in ("llama-3-8b", "yi-34b"):
        layers, small, large = _FIG15[name]
        stored = 2 * layers * row * context
        sizes = [stored + layers * page for page in (64 * KIB, 2 * MIB)]
        note = f"a mean context of {context:,.0f} tokens, from the figure for Yi-6B"
        entries.append(Entry(f"batch_ratio.{name}", small / large, sizes[1] / sizes[0], 10.0, note=note))
    return entries
