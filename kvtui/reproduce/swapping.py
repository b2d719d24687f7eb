"""Swap against recompute by block size: PagedAttention's Figure 19."""

from __future__ import annotations

from kvtui.groups.link import Link
from kvtui.reproduce.batches import PAPER
from kvtui.reproduce.entry import Entry, named
from kvtui.reproduce.paper import KV_BYTES, PaperCost
from kvtui.reproduce.settings import Settings
from kvtui.units import seconds

TOKENS = 1024  # of a sequence
BANDWIDTH = 16e9  # bytes/s one way that a copy reaches; the paper does not give its own
LAYERS = 40  # of OPT-13B
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def swap_s(size: int) -> float:
    """Seconds to move a sequence to host memory and back in blocks of `size` tokens."""
    link = Link.of(layers=LAYERS, block_bytes=size * KV_BYTES, bandwidth=BANDWIDTH)
    return 2 * link.seconds(-(-TOKENS // size))


def recompute_s() -> float:
    """Seconds to compute it again beside others."""
    cost = PaperCost.of()
    return seconds(TOKENS * cost.prompt_token)


def fig19(settings: Settings) -> list[Entry]:
    """Small blocks are small copies, each with its fixed price; recomputing does not know of blocks."""
    again = recompute_s()
    worst = max(again / swap_s(size) for size in SIZES)
    note = (
        f"a sequence of {TOKENS:,} tokens, {BANDWIDTH / 1e9:g} GB/s and 10 us a copy assumed: the paper "
        "gives neither, so these are reported, not judged."
    )
    entries = [Entry(f"swap_over_recompute.{size}", None, swap_s(size) / again) for size in SIZES]
    entries.append(Entry("recompute_over_swap.most", 1.2, worst, None))
    return named("pagedattention.fig19", entries, source=f"{PAPER}, Fig. 19", note=note)
