"""What sharing saves in the PagedAttention paper: samples and beams, Figure 15 and section 6.3."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvtui.reproduce.batches import PAPER
from kvtui.reproduce.entry import Entry, named
from kvtui.reproduce.paper import watched
from kvtui.reproduce.settings import Settings
from kvtui.traces.published import Lengths, poisson

SEEDS = (0,)
BEAMS = "Which beams live is a model without a fitted number, not OPT's scores: reported, not judged."
RATE = (
    "The text names no rate for its range over widths; here 1 request a second. With the real lengths width "
    "6 saves 30 to 34 % at one in 4 s, where nobody waits, and 20 to 28 % at 2 a second."
)
_ALPACA = {"samples": {2: 6.09, 4: 8.53, 6: 9.79}, "beams": {2: 37.56, 4: 53.13, 6: 55.16}}


def saved(lengths: Lengths, *, kind: str, width: int, rate: float, seconds: float) -> float:
    """Per cent of the blocks that sharing saves, mean over iterations after a third of the time."""
    load = poisson(kind, lengths, rate=rate, seconds=seconds, seed=SEEDS[0])
    column = np.full(len(load), width)
    load = replace(load, samples=column) if kind == "samples" else replace(load, beams=column)
    return watched("vllm", load, start_s=seconds / 3, until_s=seconds).saved


def fig15(settings: Settings) -> list[Entry]:
    """Alpaca at 20 requests a second, 2, 4 and 6 sequences each."""
    lengths, said = settings.alpaca()
    entries = []
    for kind, values in _ALPACA.items():
        allowed, note = (2.5, "") if kind == "samples" else (None, BEAMS)
        for width, paper in values.items():
            ours = saved(lengths, kind=kind, width=width, rate=20, seconds=150 if kind == "samples" else 18)
            entries.append(Entry(f"{kind}.{width}", paper, ours, allowed, "pp", seeds=SEEDS, note=note))
    return named("pagedattention.fig15", entries, source=f"{PAPER}, Fig. 15", note=said)


def sharegpt(settings: Settings) -> list[Entry]:
    """The same with ShareGPT, of which the text gives the range over widths."""
    lengths, said = settings.sharegpt()
    entries = []
    for kind, (low, high) in {"samples": (16.2, 30.5), "beams": (44.3, 66.3)}.items():
        allowed, note = (2.0, "") if kind == "samples" else (None, BEAMS)
        note = note or RATE
        for width, paper in ((2, low), (6, high)):
            seconds = 2400 if kind == "samples" else 120
            ours = saved(lengths, kind=kind, width=width, rate=1, seconds=seconds)
            entries.append(Entry(f"{kind}.{width}", paper, ours, allowed, "pp", seeds=SEEDS, note=note))
    return named("pagedattention.text63", entries, source=f"{PAPER}, section 6.3", note=said)
