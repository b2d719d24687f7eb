"""The systems of the PagedAttention paper (Kwon et al., SOSP 2023) on OPT-13B and one A100 with 40 GB.

Rules as in its artifact: 12 GiB of KV memory in 983 blocks of 16 tokens; first come, first served with whole
prompts, at most 2560 tokens a step; Orca reserves by the buddy system, vLLM keeps 1 % free at admission.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from kvtui.comparison.systems import ORCA_SEQS, PAPER_SEQS, PAPER_TOKENS, PAPER_WATERMARK
from kvtui.groups.engine import GroupEngine
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules
from kvtui.traces.published import LIMIT
from kvtui.traces.workload import Workload
from kvtui.units import picoseconds

BLOCK = 16
KV_BYTES = 2 * 5120 * 40 * 2  # of a token: K and V, hidden size, layers, fp16
BLOCKS = (12 << 30) // KV_BYTES // BLOCK  # 983
SLOTS = BLOCKS * BLOCK
RESERVES = {"max": "max", "pow2": "pow2", "oracle": "exact"}
PER_SEQUENCE_S = 0.22e-3  # host time a running sequence: 0.17 to 0.26 ms in measurements of vLLM in 2023


@dataclass(frozen=True, slots=True)
class PaperCost:
    """Step time on one A100 with 40 GB, in ps: weights and a base, host time a sequence, KV that decodes
    read, and arithmetic of prompts; they add up, as in a vLLM without CUDA graphs."""

    fixed: int
    sequence: int
    kv_token: int
    prompt_token: int

    @classmethod
    def of(cls, *, per_sequence_s: float = PER_SEQUENCE_S) -> PaperCost:
        """26 GB of weights at 85 % of 1555 GB/s, 4.5 ms base, KV at 70 %, prompts at 55 % of 312 TFLOP/s."""
        bandwidth, flops = 1555e9, 312e12
        return cls(
            fixed=picoseconds(26e9 / (0.85 * bandwidth) + 4.5e-3),
            sequence=picoseconds(per_sequence_s),
            kv_token=picoseconds(KV_BYTES / (0.70 * bandwidth)),
            prompt_token=picoseconds(2 * 12.85e9 / (0.55 * flops)),
        )

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        """See `CostModel.step`."""
        read = decode_context * self.kv_token
        return self.fixed + decodes * self.sequence + read + prefill * self.prompt_token

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        """See `CostModel.leap`."""
        read = steps * decode_context + decodes * (steps * (steps - 1) // 2)
        return steps * (self.fixed + decodes * self.sequence) + read * self.kv_token


def rules(*, seqs: int, watermark: float = 0.0) -> Rules:
    """Scheduler options of the artifact."""
    return Rules(
        LIMIT,
        max_num_batched_tokens=PAPER_TOKENS,
        max_num_seqs=seqs,
        enable_chunked_prefill=False,
        watermark=watermark,
    )


def engine(
    system: str,
    workload: Workload,
    *,
    until_s: float | None = None,
    block: int = BLOCK,
    cost: PaperCost | None = None,
) -> Engine:
    """`max`, `pow2` and `oracle` are Orca's, `vllm` the paper's own system."""
    cost = cost or PaperCost.of()
    until = None if until_s is None else picoseconds(until_s)
    if system == "vllm":
        memory = ForkingMemoryManager(SLOTS, block)
        limits = rules(seqs=PAPER_SEQS, watermark=PAPER_WATERMARK)
        return GroupEngine(workload, limits, memory, cost, until_ps=until)
    regions = ContiguousMemoryManager(SLOTS, LIMIT, BLOCK, reserve=RESERVES[system], placement="buddy")
    return Engine(workload, rules(seqs=ORCA_SEQS), regions, cost, until_ps=until)


class Waste(NamedTuple):
    """Shares of KV memory in per cent, and requests in a batch: means over iterations."""

    tokens: float
    reserved: float
    internal: float
    external: float
    batch: float


class WasteWatch:
    """Accounts for waste as the artifact does, iteration by iteration, from `start_s` on.

    Token states are prompt and generated tokens; reservation is what a request will still generate; internal
    is what was asked for beyond that; external is all the rest: round-ups, leftovers and free blocks.
    """

    def __init__(self, engine: Engine, *, start_s: float = 0.0) -> None:
        self._start = picoseconds(start_s)
        self._asked = _asked(engine)
        self.iterations = 0
        self._stored = self._final = self._regions = self._batch = self._logical = self._busy = 0.0
        self._known: dict[int, int] = {}  # request -> slots asked for
        engine.observer = self

    def scheduled(self, engine: Engine, plan: Plan) -> None:
        """Add the iterations of a step or leap."""
        if engine.now_ps < self._start:
            return
        k, scheduler, levels = plan.steps, engine.scheduler, engine.manager.levels(None)
        self.iterations += k
        self._stored += k * plan.stored + plan.decodes * (k * (k - 1) // 2) - k * levels.twice
        self._final += k * scheduler.final
        self._batch += k * scheduler.batch
        if levels.held:
            self._busy += k
            self._logical += k * (1 + levels.twice / levels.held)
        if self._asked is not None:
            self._regions += k * sum(map(self._asked, scheduler.running.values()))

    def updated(self, engine: Engine, plan: Plan) -> None:
        pass

    def arrived(self, engine: Engine, request: Request) -> None:
        pass

    rejected = aborted = arrived

    def idle(self, engine: Engine) -> None:
        pass

    @property
    def saved(self) -> float:
        """Per cent of the blocks that sharing saves, from the mean over iterations of logical / physical."""
        return 100 * (1 - self._busy / max(self._logical, 1))

    def result(self) -> Waste:
        """What was found."""
        assert self.iterations, "nothing ran after the start"
        pool = SLOTS * self.iterations / 100
        regions = max(self._regions, self._stored)
        final = self._final if self._asked is not None else self._stored
        return Waste(
            tokens=self._stored / pool,
            reserved=(final - self._stored) / pool,
            internal=(self._regions - final) / pool if self._asked is not None else 0.0,
            external=100 - regions / pool,
            batch=self._batch / self.iterations,
        )


def _asked(engine: Engine) -> Callable[[Request], int] | None:
    """Slots that a request asks for, before they are rounded up."""
    memory = engine.manager
    if not isinstance(memory, ContiguousMemoryManager):
        return None
    return lambda request: memory.wished(request)


def watched(system: str, workload: Workload, *, start_s: float, until_s: float) -> WasteWatch:
    """A run of one system to `until_s`, watched from `start_s` on."""
    run = engine(system, workload, until_s=until_s)
    watch = WasteWatch(run, start_s=start_s)
    run.run()
    return watch
