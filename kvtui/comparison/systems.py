"""The systems a lane can be: which scheduler, memory manager and limits go with its name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.groups.fanout import fanned_out
from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.cost import CostModel
from kvtui.serving.engine import Engine
from kvtui.serving.rules import Rules
from kvtui.traces.workload import Workload

if TYPE_CHECKING:
    from kvtui.memory.grouped import GroupedMemoryManager

Manager: TypeAlias = "PagedMemoryManager | GroupedMemoryManager | ContiguousMemoryManager"

PAPER_TOKENS = 2560  # a step of the systems in the PagedAttention paper computes at most
PAPER_SEQS = 2048
ORCA_SEQS = 256
PAPER_WATERMARK = 0.01
SWAP_BYTES = 4 << 30  # host memory for swapping, vLLM's default
LINK_SHARE = 0.75  # of the one-way rate of PCIe, for large copies from pinned memory
SLOWEST_PCIE = 16e9  # bytes/s, where the catalogue has no figure


class Site(NamedTuple):
    """Where a lane runs: one workload, one pool of `slots` KV slots, and what steps cost there."""

    workload: Workload
    model: ModelSpec
    gpu: GpuSpec
    rules: Rules
    slots: int
    slot_bytes: int  # of one KV slot on one GPU
    cost: CostModel
    until_ps: int | None = None
    layers: tuple[str, ...] = ()  # where the lane tells them apart, see `groups_of`
    states: int = 0  # slots that the states of a request fill where its memory is one region


def build(spec: LaneSpec, site: Site) -> tuple[Engine, Manager]:
    """The engine of a lane at time 0, and its memory."""
    if spec.manager == "vllm-sosp":
        return _paper(spec, site)
    # Everybody else runs each sequence as a request of its own.
    site = site._replace(workload=fanned_out(site.workload))
    if spec.manager == "orca":
        rules = plain(site.rules, tokens=PAPER_TOKENS, seqs=min(ORCA_SEQS, site.rules.max_num_seqs))
        return _contiguous(spec._replace(placement="buddy"), site, rules)
    if spec.manager == "static":
        return _static(spec, site)
    if spec.manager == "slots":
        return _slots(spec, site)
    if spec.manager == "contiguous":
        return _contiguous(spec, site, site.rules)
    return _paged(spec, site)


def plain(rules: Rules, *, tokens: int, seqs: int, watermark: float = 0.0) -> Rules:
    """The options of a system without chunked prefill, asynchronous scheduling and drafts."""
    return replace(
        rules,
        max_num_batched_tokens=max(tokens, rules.max_model_len),
        max_num_seqs=seqs,
        enable_chunked_prefill=False,
        long_prefill_token_threshold=0,
        policy="fcfs",
        watermark=watermark,
        async_scheduling=False,
        spec_method=None,
    )


def _paper(spec: LaneSpec, site: Site) -> tuple[Engine, Manager]:
    from kvtui.groups.engine import GroupEngine  # few lanes are of these systems
    from kvtui.groups.link import Link
    from kvtui.groups.pinning import common_keys
    from kvtui.memory.forks import ForkingMemoryManager

    keys = common_keys(site.workload, spec.block_size) if spec.pinned else frozenset()
    block_bytes = spec.block_size * site.slot_bytes
    memory = ForkingMemoryManager(
        site.slots, spec.block_size, host_blocks=SWAP_BYTES // block_bytes, pinned=keys
    )
    bandwidth = spec.link * 1e9 if spec.link else LINK_SHARE * (site.gpu.pcie or SLOWEST_PCIE)
    link = Link.of(
        layers=site.model.layers, block_bytes=block_bytes, bandwidth=bandwidth, overlap=spec.overlap
    )
    rules = plain(site.rules, tokens=PAPER_TOKENS, seqs=PAPER_SEQS, watermark=PAPER_WATERMARK)
    engine = GroupEngine(
        site.workload, rules, memory, site.cost, preempt=spec.preempt, link=link, until_ps=site.until_ps
    )
    return engine, memory


def _paged(spec: LaneSpec, site: Site) -> tuple[Engine, Manager]:
    rules = site.rules
    memory: Manager
    if site.layers or rules.spec_method is not None:
        from kvtui.memory.grouped import GroupedMemoryManager
        from kvtui.memory.groups import ONE_FULL_LAYER

        layers = site.layers or ONE_FULL_LAYER
        memory = GroupedMemoryManager(
            site.slots, spec.block_size, rules, layers=layers, prefix_cache=spec.prefix_cache
        )
    else:
        memory = PagedMemoryManager(
            site.slots, spec.block_size, prefix_cache=spec.prefix_cache, lifo=rules.release.lifo
        )
    return Engine(site.workload, rules, memory, site.cost, until_ps=site.until_ps), memory


def _contiguous(spec: LaneSpec, site: Site, rules: Rules) -> tuple[Engine, Manager]:
    memory = ContiguousMemoryManager(
        site.slots,
        rules.max_model_len,
        spec.block_size,
        reserve=spec.reserve,
        placement=spec.placement,
        beside=site.states,
    )
    return Engine(site.workload, rules, memory, site.cost, until_ps=site.until_ps), memory


def _static(spec: LaneSpec, site: Site) -> tuple[Engine, Manager]:
    from kvtui.groups.static import StaticScheduler

    seqs = min(spec.batch or site.rules.max_num_seqs, site.rules.max_num_seqs)
    rules = plain(site.rules, tokens=seqs * site.rules.max_model_len, seqs=seqs)
    memory = ContiguousMemoryManager(site.slots, rules.max_model_len, spec.block_size, beside=site.states)
    scheduler = StaticScheduler(rules, memory)
    engine = Engine(site.workload, rules, memory, site.cost, until_ps=site.until_ps, scheduler=scheduler)
    return engine, memory


def _slots(spec: LaneSpec, site: Site) -> tuple[Engine, Manager]:
    """As llama.cpp's server divides its context: each slot has the same share, and no request gets more."""
    size = site.slots // spec.slots // spec.block_size * spec.block_size
    longest = size - site.states
    if longest < 2:
        raise ConfigError(
            f"{spec.slots} slots of a pool of {site.slots:,} tokens hold nothing", hint="ask for fewer slots"
        )
    rules = replace(site.rules, max_model_len=min(longest, site.rules.max_model_len), max_num_seqs=spec.slots)
    memory = ContiguousMemoryManager(size * spec.slots, longest, spec.block_size, beside=site.states)
    return Engine(site.workload, rules, memory, site.cost, until_ps=site.until_ps), memory
