"""Hit rates of prefix caches: Mooncake's traces by stack distances, RadixAttention's share of the optimum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvtui.answers.hitcurve import hit_curve
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.reproduce.entry import Entry, missing, named
from kvtui.reproduce.settings import Settings
from kvtui.serving.engine import Engine
from kvtui.serving.intake import BlockKeys
from kvtui.traces import load
from kvtui.traces.synthetic import path_of
from kvtui.traces.workload import Workload

# Of each trace file: blocks -> hit rate as recomputed by several, 0 = no limit; and what the paper prints.
_TRACES = {
    "conversation": (
        {1000: 4.45, 4096: 8.8, 10_000: 21.12, 30_000: 32.57, 50_000: 35.46, 100_000: 36.37, 0: 36.64},
        40.0,
    ),
    "synthetic": ({1000: 8.25, 10_000: 42.35, 30_000: 62.42, 50_000: 63.96, 0: 63.96}, 66.0),
}
_LAST_HALF = {512: 4.5, 2048: 5.6, 8192: 18.8, 32_768: 35.6, 0: 39.8}  # of tokens, after the first half
_SOURCE = "Mooncake (FAST 2025), public traces; values recomputed by others, block-level LRU"
_EVERYTHING = 1 << 40
_OPTIMUM = 0.9  # share of the hits without a limit that the design asks for
_RADIX = ("agent", "documents", "shared-prefix")


def mooncake(settings: Settings) -> list[Entry]:
    """Share of 512-token blocks that an LRU prefix cache finds, at many sizes, from one pass."""
    entries: list[Entry] = []
    for name, (rates, printed) in _TRACES.items():
        file = f"{name}_trace.jsonl"
        path = settings.file(file)
        if path is None:
            note = f"needs {file} of kvcache-ai/Mooncake: give its folder with --data"
            entries.append(missing(f"mooncake.{name}", rates[0], source=_SOURCE, note=note))
            continue
        workload = load(str(path))
        entries += named(f"mooncake.{name}", _rates(workload, rates, 0.1), source=_SOURCE)
        ceiling = 100 * hit_curve(workload).ceiling
        entries += named(
            f"mooncake.{name}",
            [Entry("printed", printed, ceiling, 4.0, "pp")],
            source="Mooncake (FAST 2025), Table 2",
        )
        if name == "conversation":
            source = "kvcache-simulator, llmtrafficlens"
            entries += named(f"mooncake.{name}.last_half", last_half(workload), source=source)
    source = "Mooncake (arXiv), Table 1"
    note = "the arXiv trace (23,608 requests) is not in public reach here"
    return [*entries, missing("mooncake.arxiv.lru_unlimited", 51.0, source=source, note=note)]


def _rates(workload: Workload, rates: dict[int, float], allowed: float) -> list[Entry]:
    curve = hit_curve(workload)
    return [
        Entry(f"{size or 'unlimited'}", rate, 100 * curve.rate(size or _EVERYTHING), allowed, "pp")
        for size, rate in rates.items()
    ]


def last_half(workload: Workload) -> list[Entry]:
    """Share of the prompt tokens, not of the blocks: the last block of a prompt is seldom full."""
    curve = hit_curve(workload, last=0.5)
    return [
        Entry(f"{size or 'unlimited'}", rate, 100 * curve.found(size or _EVERYTHING), 0.1, "pp")
        for size, rate in _LAST_HALF.items()
    ]


def radix(settings: Settings) -> list[Entry]:
    """Tokens found in the prefix cache of a real pool, over those that anybody asked for before.

    The paper's share is that of its cache-aware scheduling: of those that wait, who has the longest shared
    prefix goes first, which is depth first through the tree of prefixes (its Theorem 3.1). So the requests
    are all there at once and go in that order. Beside it, first come, first served: vLLM's order.
    """
    model, gpu = catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g")
    judged: list[Entry] = []
    told: list[Entry] = []
    for name in _RADIX:
        arriving = load(str(path_of(name)))
        for workload, entries in ((depth_first(arriving), judged), (arriving, told)):
            engine = _run(Experiment(workload, model, gpu, (LaneSpec("paged"),)))
            share = engine.scheduler.prefix.hits / asked_before(workload, engine.manager.block_size)
            entries.append(
                Entry(name, 0.96, share, 0.0 if entries is judged else None, low=_OPTIMUM, high=1.0)
            )
    slots = engine.manager.blocks * engine.manager.block_size
    note = "bundled workloads in place of its benchmarks; the design asks for at least 0.9 of the optimum."
    late = f"much is asked again only after more than the pool's {slots:,} tokens. {note}"
    source = "SGLang (NeurIPS 2024), sections 3 and 6.2"
    return [
        *named(
            "radixattention.share_of_optimum", judged, source=source, note=f"longest prefix first. {note}"
        ),
        *named("radixattention.first_come", told, source=source, note=f"first come, first served: {late}"),
    ]


def depth_first(workload: Workload) -> Workload:
    """All requests at once, those that share a prefix one behind the other."""
    places: dict[int, int] = {}  # of prefixes, in the order in which they first appear
    chains = np.split(workload.chain, workload.chain_start[1:-1])
    paths = [[places.setdefault(key, len(places)) for key in chain.tolist()] for chain in chains]
    order = np.array(sorted(range(len(workload)), key=paths.__getitem__), np.int64)
    batch = workload.take(order, np.zeros(len(order), np.int64))
    return replace(batch, follows=None, waits_ns=None, closed=False)


def asked_before(workload: Workload, block_size: int) -> int:
    """Prompt tokens in whole blocks that an earlier request had: what no cache can exceed."""
    keys, known, tokens = BlockKeys(workload, block_size), set[int](), 0
    for number, prompt in enumerate(workload.prompt.tolist()):
        own = keys.of(number)
        tokens += block_size * sum(key in known for key in own[: (prompt - 1) // block_size])
        known.update(own)
    return tokens


def _run(experiment: Experiment) -> Engine:
    (lane,) = experiment.build(watched=False)
    lane.run()
    return lane.engine
