"""Rates that systems sustain: Figures 12 and 17 of the PagedAttention paper, and static batches beside."""

from __future__ import annotations

from math import sqrt

import numpy as np

from kvtui.comparison.systems import ORCA_SEQS, plain
from kvtui.groups.static import StaticScheduler
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.reproduce.batches import PAPER
from kvtui.reproduce.entry import Entry, named
from kvtui.reproduce.paper import SLOTS, PaperCost, engine, rules
from kvtui.reproduce.settings import Settings
from kvtui.serving.engine import Engine
from kvtui.traces.published import LIMIT, Lengths, poisson
from kvtui.traces.workload import Ints, Workload

LATENCY_S = 0.5  # a token, mean over requests: what a system has to keep
ARRIVALS_S = 900.0
NEAR = 1.02  # ratio of two rates that are as good as one
SEEDS = (0,)
CHAT = 1024  # tokens of history and of answer at most in Fig. 17


def run(system: str, workload: Workload) -> Engine:
    """One of the paper's systems, or `static` batches of as many requests as the memory reserves."""
    if system != "static":
        return engine(system, workload)
    limits = plain(rules(seqs=ORCA_SEQS), tokens=ORCA_SEQS * LIMIT, seqs=ORCA_SEQS)
    memory = ContiguousMemoryManager(SLOTS, LIMIT, 16)
    return Engine(workload, limits, memory, PaperCost.of(), scheduler=StaticScheduler(limits, memory))


def latency(system: str, workload: Workload) -> float:
    """Mean over requests of the time from arrival to end, over output tokens, in seconds."""
    lane = run(system, workload)
    lane.run()
    finish = np.frombuffer(lane.results.finish, np.int64)
    taken = finish / 1e12 - workload.arrival_ns / 1e9
    return float(np.mean((taken / workload.output)[finish >= 0]))


def sustained(
    system: str, lengths: Lengths, *, low: float, high: float, seconds: float = ARRIVALS_S
) -> float:
    """The highest rate, in requests a second, at which the latency is kept, by bisection."""
    while high / low > NEAR:
        rate = sqrt(low * high)
        load = poisson(system, lengths, rate=rate, seconds=seconds, seed=SEEDS[0])
        low, high = (rate, high) if latency(system, load) <= LATENCY_S else (low, rate)
    return sqrt(low * high)


def fig12a(settings: Settings) -> list[Entry]:
    """ShareGPT: how many times the rate of Orca and of static batches."""
    lengths, said = settings.sharegpt()
    rate = {name: sustained(name, lengths, low=0.05, high=4) for name in ("vllm", "oracle", "max", "static")}
    entries = [
        Entry("oracle", None, rate["vllm"] / rate["oracle"], 10.0, low=1.7, high=2.7, seeds=SEEDS),
        Entry("max", None, rate["vllm"] / rate["max"], 10.0, low=2.7, high=8.0, seeds=SEEDS),
        Entry(
            "static",
            22.0,
            rate["vllm"] / rate["static"],
            seeds=SEEDS,
            note="'up to 22x FasterTransformer': whole batches of reserved memory here, not that program.",
        ),
    ]
    note = f"{said} Ranges are over models; ours is OPT-13B at {LATENCY_S} s a token."
    return named("pagedattention.fig12a", entries, source=f"{PAPER}, Fig. 12a and section 6.2", note=note)


def fig12d(settings: Settings) -> list[Entry]:
    """Alpaca: vLLM against Orca (Oracle)."""
    lengths, said = settings.alpaca()
    rate = {name: sustained(name, lengths, low=12, high=50, seconds=100) for name in ("vllm", "oracle")}
    entries = [Entry("oracle", 1.3, rate["vllm"] / rate["oracle"], 20.0, seeds=SEEDS)]
    return named("pagedattention.fig12d", entries, source=f"{PAPER}, Fig. 12d and section 6.3", note=said)


def fig17(settings: Settings) -> list[Entry]:
    """Chat: prompts that fill the 1024 tokens of history left to them."""
    answers, said = settings.sharegpt()

    def lengths(requests: int, seed: int) -> tuple[Ints, Ints]:
        _, output = answers(requests, seed)
        return np.full(requests, CHAT), np.minimum(output, CHAT - 1)

    rate = {
        name: sustained(name, lengths, low=0.05, high=3, seconds=600) for name in ("vllm", "oracle", "max")
    }
    note = f"{said} The chats' own lengths were not published: full histories assumed; reported, not judged."
    entries = [
        Entry("vllm_over_oracle", 2.0, rate["vllm"] / rate["oracle"], seeds=SEEDS),
        Entry("oracle_over_max", 1.0, rate["oracle"] / rate["max"], seeds=SEEDS),
    ]
    return named("pagedattention.fig17", entries, source=f"{PAPER}, Fig. 17", note=note)
