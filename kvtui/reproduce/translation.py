"""Translations behind a prefix that all requests share: Figure 16 of the PagedAttention paper.

LLaMA-13B on one A100 with 40 GB, which stores as much a token as OPT-13B. vLLM keeps the prefix once, in
whole blocks, and computes only what follows it (the artifact's prefix_astra); Orca (Oracle) has it in every
request.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvtui.comparison.systems import PAPER_SEQS, PAPER_WATERMARK
from kvtui.groups.engine import GroupEngine
from kvtui.groups.pinning import common_keys
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.reproduce.batches import PAPER
from kvtui.reproduce.entry import Entry, named
from kvtui.reproduce.paper import BLOCK, SLOTS, PaperCost, engine, rules
from kvtui.reproduce.settings import Settings
from kvtui.serving.engine import Engine
from kvtui.traces.published import Lengths, poisson, sentences
from kvtui.traces.workload import Ints, Workload
from kvtui.units import picoseconds

SEEDS = (0,)
# One example in the paper's prefix takes (341 - 80) / 4 = 65 tokens in both languages. A pair of WMT16's news
# is taken to be a fifth longer, and German to need four tokens for three of English.
SOURCE, TARGET, SPREAD = 33, 45, 0.55  # tokens in the mean, standard deviation over mean
_PREFIXES = {"one_shot": (80, 1.67), "five_shot": (341, 3.58)}  # tokens, and vLLM's rate over Orca's
_OFFERED = 80.0  # requests a second, more than any of these answers
_FROM_S, _UNTIL_S = 20.0, 80.0  # when answers are counted


def fig16(settings: Settings) -> list[Entry]:
    """Rates at which vLLM with the prefix kept once and Orca (Oracle) answer when more than that comes."""
    entries = []
    for name, (prefix, paper) in _PREFIXES.items():
        shared, alone = (rate(system, prefix) for system in ("vllm", "oracle"))
        told = f"{shared:.1f} requests a second against {alone:.1f}"
        entries.append(Entry(name, paper, shared / alone, seeds=SEEDS, note=told))
    note = (
        f"The lengths of its WMT16 requests are not published: {SOURCE} and {TARGET} tokens in the mean are "
        "assumed, so reported, not judged."
    )
    return named("pagedattention.fig16", entries, source=f"{PAPER}, Fig. 16", note=note)


def rate(system: str, prefix: int) -> float:
    """Requests answered a second behind a prefix of so many tokens, all seats taken."""
    load = poisson("translations", _behind_prefix(prefix), rate=_OFFERED, seconds=_UNTIL_S, seed=SEEDS[0])
    run = _with_prefix(load, prefix) if system == "vllm" else engine(system, load, until_s=_UNTIL_S)
    run.run()
    finish = np.frombuffer(run.results.finish, np.int64) / 1e12
    return float(((finish >= _FROM_S) & (finish < _UNTIL_S)).sum()) / (_UNTIL_S - _FROM_S)


def _behind_prefix(prefix: int) -> Lengths:
    def lengths(requests: int, seed: int) -> tuple[Ints, Ints]:
        source, target = sentences(requests, seed, source=SOURCE, target=TARGET, cv=SPREAD)
        return prefix + source, target

    return lengths


def behind(workload: Workload, prefix: int) -> Workload:
    """The requests begin with the same whole blocks, as many as `prefix` tokens fill."""
    blocks = prefix // BLOCK
    count = len(workload)
    return replace(
        workload,
        unit=BLOCK,
        chain=np.tile(np.arange(1, blocks + 1, dtype=np.int64), count),
        chain_start=np.arange(count + 1, dtype=np.int64) * blocks,
        identified=np.full(count, blocks * BLOCK, np.int64),
    )


def _with_prefix(workload: Workload, prefix: int) -> Engine:
    """The paper's system, which keeps the common blocks."""
    workload = behind(workload, prefix)
    memory = ForkingMemoryManager(SLOTS, BLOCK, pinned=common_keys(workload, BLOCK))
    limits = rules(seqs=PAPER_SEQS, watermark=PAPER_WATERMARK)
    return GroupEngine(workload, limits, memory, PaperCost.of(), until_ps=picoseconds(_UNTIL_S))
