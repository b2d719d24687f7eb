"""Everything that only a GPU can show, in one run of a few minutes: python -m tests.gpu.report

Prints a report; exit code 1 if anything was read wrong or does not add up. With --device cpu it runs on a CPU
as well, and says that it is one. Needs the development environment and torch; for the driver, nvidia-ml-py.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from kvtui.backends.batch import Batch
from kvtui.backends.ghost import Contents, Stories, contents_of
from kvtui.backends.torch_backend import Settings, TorchBackend
from kvtui.backends.torch_clock import Stopwatch
from kvtui.backends.torch_device import Device
from kvtui.backends.torch_kernels import choose, probed
from kvtui.backends.torch_lane import TorchLane
from kvtui.backends.torch_pool import Shape
from kvtui.cli.demo import at_once
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.decisions.recorded import prepare
from kvtui.hardware import catalogue
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.memory.grouped import GroupedMemoryManager
from kvtui.memory.ops import Op, OpKind
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.traces import load
from kvtui.traces.synthetic import path_of
from tests.serving.worlds import world
from tests.sharing.worlds import world as sharing_world
from tests.vllm.more_worlds import more_world

MIB = 1 << 20
SMALL = Shape(heads=4, kv_heads=2, key_dim=64, value_dim=64)
LARGE = Shape(heads=32, kv_heads=8, key_dim=128, value_dim=128)  # Llama-3.1-8B
WORLDS = (0, 1, 23, 27, 34)
SHARING_WORLDS = (8, 11)  # forks, beams, swaps
WINDOW_WORLDS = (5, 9)
KV_TYPES = ("fp8", "fp8_per_token_head", "int8_per_token_head")
SWAPPED = 256  # blocks
SHAPES = ((1, 1024), (8, 1024), (32, 1024), (128, 1024), (8, 8192), (32, 4096))  # requests, context
REPEATS = 20

failures: list[str] = []


def say(title: str, lines: Iterator[str]) -> None:
    """A section of the report; what breaks in it breaks only it."""
    start = time.perf_counter()
    print(f"\n{title}")
    try:
        for line in lines:
            print(f"  {line}", flush=True)
    except Exception as error:
        failures.append(title)
        print(f"  FAILED: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    print(f"  ({time.perf_counter() - start:.1f} s)")


def check(holds: bool, words: str) -> str:
    if not holds:
        failures.append(words)
    return f"{'ok' if holds else 'FAILED'}: {words}"


# ---- sections


def hardware(device: Device) -> Iterator[str]:
    import torch

    yield f"{device.label} as {device.device}, torch {torch.__version__}, K/V in {device.dtype}"
    if device.kind == "cuda":
        at = torch.cuda.get_device_properties(device.device)
        yield f"compute capability {at.major}.{at.minor}, CUDA {torch.version.cuda}, HIP {torch.version.hip}"
    yield f"free {device.free_bytes() / MIB:,.0f} MiB, may take {device.allowance() / MIB:,.0f} MiB"


class AsModelled:
    """Carries steps out, and tells the time of the cost model."""

    def __init__(self, lane: TorchLane) -> None:
        self.lane = lane

    def duration(self, engine: Engine, plan: Plan) -> int:
        self.lane.duration(engine, plan)
        return engine.cost.step(plan.decodes, plan.decode_context, plan.prefill_tokens, plan.prefill_pairs)


class Tally:
    """What verifiers of several runs say."""

    def __init__(self) -> None:
        self.checked = self.failed = 0
        self.difference = self.tolerance = 0.0
        self.first: str | None = None
        self.kernels: set[str] = set()

    def run(
        self, device: Device, engine: Engine, truth: Callable[[Request], Contents], **options: Any
    ) -> TorchLane:
        """Carry a whole run out, everything verified."""
        every = 2 if device.on_cpu else 1  # steps in which all is compared; slots are followed in each
        engine.observer = None
        longest = engine.rules.max_model_len
        shape = options.pop("shape", SMALL)
        lane = TorchLane(engine.manager, device, shape, truth, longest=longest, verify=every, **options)
        choose(lane)
        self.kernels.add(lane.attention.name)
        engine.clock = AsModelled(lane)
        engine.run()
        assert lane.verifier is not None
        self.checked += lane.verifier.checked
        self.failed += lane.verifier.failed
        self.difference = max(self.difference, lane.verifier.difference)
        self.tolerance, self.first = lane.verifier.tolerance, self.first or lane.verifier.first
        return lane

    def lines(self, what: str) -> Iterator[str]:
        words = f"{self.checked:,} requests, {self.failed} wrong {self.first or ''}"
        yield check(not self.failed and self.checked > 20, f"{what}: {words}")
        yield f"largest difference {self.difference:.2g} (tolerance {self.tolerance:g})"
        yield f"read by {', '.join(sorted(self.kernels))}"


def by_keys(engine: Engine) -> Callable[[Request], Contents]:
    size = engine.manager.block_size
    return lambda request: contents_of(request, size)


def recorded(seed: int, kind: str = "") -> Engine:
    config, lines = more_world(seed, kind) if kind else world(seed)
    return prepare(config | {"max_steps": 200}, lines)[0]


def verification(device: Device) -> Iterator[str]:
    """Random worlds with shared prefixes, chunks and preemption, every request of a step."""
    for shape in (SMALL, LARGE):
        tally, preempted = Tally(), 0
        for seed in WORLDS:
            engine = recorded(seed)
            tally.run(device, engine, by_keys(engine), shape=shape, layers=2)
            preempted += engine.scheduler.preemptions
        yield from tally.lines(f"{shape.heads}/{shape.kv_heads} heads, {preempted} preemptions")


def sharing(device: Device) -> Iterator[str]:
    """Forks, copies before a write and beams; what is swapped goes to pinned memory and comes back."""
    tally, copies, swapped = Tally(), 0, 0
    for seed in SHARING_WORLDS:
        engine = sharing_world(seed)
        manager = engine.manager
        assert isinstance(manager, ForkingMemoryManager)
        tally.run(device, engine, Stories(manager.block_size))
        copies, swapped = copies + manager.copies, swapped + manager.swapped_in
    yield from tally.lines(f"{copies} copies, {swapped} blocks swapped out and in again")
    yield from _swap_rate(device)


def _swap_rate(device: Device) -> Iterator[str]:
    """How fast blocks of 16 tokens move, each by itself."""
    manager = PagedMemoryManager(16 * SWAPPED, 16)
    pool = TorchLane(manager, device, LARGE, _nobody, layers=1, longest=16).pool
    outs = [Op(OpKind.OUT, 0, (n, n)) for n in range(1, SWAPPED + 1)]
    ins = [Op(OpKind.IN, 0, (n, n)) for n in range(1, SWAPPED + 1)]
    pool.prepare(outs)
    for name, ops in (("first out", outs), ("out", outs), ("in", ins)):
        watch = Stopwatch(device)
        pool.replay(ops, base=0, watch=watch)
        seconds = watch.parts()["swap"]
        rate = SWAPPED * 16 * LARGE.elements * device.dtype.itemsize / seconds / 1e9
        yield f"{SWAPPED} blocks {name}: {seconds * 1e6 / SWAPPED:.1f} us a block, {rate:.1f} GB/s"


def windows(device: Device) -> Iterator[str]:
    """Layers that look back differently far, a table for each group of them."""
    tally = Tally()
    for seed in WINDOW_WORLDS:
        engine = recorded(seed, "window")
        assert isinstance(engine.manager, GroupedMemoryManager)
        reach = [group.window for group in engine.manager.groups]
        tally.run(device, engine, by_keys(engine), windows=reach)
    yield from tally.lines("groups of layers")


def kv_types(device: Device) -> Iterator[str]:
    """K/V in 8 bits."""
    for name in KV_TYPES:
        tally = Tally()
        for seed in WORLDS[:3]:
            engine = recorded(seed)
            tally.run(device, engine, by_keys(engine), kv_dtype=name)
        yield from tally.lines(name)


def kernels(device: Device) -> Iterator[str]:
    for unit in (16, 256):
        lane = TorchLane(
            PagedMemoryManager(unit * 64, unit), device, LARGE, _nobody, layers=2, longest=unit * 48
        )
        for name, verdict in probed(lane):
            yield f"{unit}-token blocks, {name}: {verdict if isinstance(verdict, str) else 'agrees'}"


def _nobody(request: object) -> Any:
    raise AssertionError("no request is asked about")


def timings(device: Device) -> Iterator[str]:
    """One layer's decode attention by shape: gather and SDPA, and every kernel that agrees."""
    yield f"{'requests x context':>20} {'kernel':<16} {'ms':>9} {'GB/s of K/V':>12}"
    for requests, context in SHAPES:
        slots = requests * context
        if 3 * slots * LARGE.elements * device.dtype.itemsize > device.allowance():
            yield f"{requests:>9} x {context:<8} does not fit into what may be taken"
            continue
        lane = TorchLane(PagedMemoryManager(slots, 16), device, LARGE, _nobody, layers=1, longest=context)
        blocks = np.random.default_rng(0).permutation(slots // 16) + 1
        ways = [lane.attention, *(k for _, k in probed(lane) if not isinstance(k, str))]
        for way in ways:
            lane.attention = way
            seconds = _attention_s(lane, requests, context, blocks)
            rate = slots * LARGE.elements * device.dtype.itemsize / seconds / 1e9
            yield f"{requests:>9} x {context:<8} {way.name:<16} {seconds * 1000:>9.3f} {rate:>12,.0f}"


def _decodes(requests: int, context: int, blocks: np.ndarray) -> Batch:
    tables = blocks.astype(np.int32).reshape(requests, -1)
    ones = np.ones(requests, np.int64)
    return Batch((), ones * (context - 1), ones, tables, np.zeros(requests, np.int32), 16)


def _attention_s(lane: TorchLane, requests: int, context: int, blocks: np.ndarray) -> float:
    """Median time of a step; contexts grow from one to the next, as they do in a run."""
    import torch

    times = []
    repeats = REPEATS if not lane.device.on_cpu else 3
    with torch.inference_mode():
        for missing in reversed(range(repeats)):
            watch = Stopwatch(lane.device)
            lane.forward(_decodes(requests, context - missing, blocks), watch)
            times.append(watch.parts()["attention"])
    return sorted(times)[len(times) // 2]


def lanes(device: Device, limit: int) -> Iterator[str]:
    """Peak batch at equal bytes, measured, with the allocations as evidence."""
    workload = at_once(load(str(path_of("chat")), limit=limit))
    specs = tuple(LaneSpec(manager, backend="torch") for manager in ("contiguous", "paged"))
    tried = Experiment(workload, catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g"), specs, until_s=10.0)
    backend = TorchBackend(
        tried.model, Settings(device=str(device.device), verify=20 if device.on_cpu else 400)
    )
    tried = backend.fit(tried, asked=False, lively=device.on_cpu)
    peaks, allocated = [], []
    for lane in tried.build(watched=False):
        lane.run()
        assert lane.times is not None
        said = lane.times.report()
        peaks.append(lane.engine.meter.peak)
        allocated.append(said["allocated_bytes"])
        steps, verify = said["steps"], said["verify"]
        yield (
            f"{lane.info.name}: {peaks[-1]} at once at most, {steps:,} steps, "
            f"{1000 * sum(said['seconds'].values()) / max(steps, 1):.2f} ms a step, {said['attention']}"
        )
        yield from _whole(said)
        yield check(not verify["failed"], f"{verify['checked']:,} requests checked, {verify['failed']} wrong")
        yield from _memory(said)
    yield check(allocated[0] == allocated[1], f"equal bytes: {allocated[0]:,} in each lane")
    yield check(peaks[1] > peaks[0], f"peak batch {peaks[1]} paged, {peaks[0]} contiguous")
    backend.close()


def _whole(said: dict[str, Any]) -> Iterator[str]:
    """What a step comes to in all layers, and in a whole model."""
    ms = {name: 1000 * seconds for name, seconds in said["step"].items()}
    layers = f"{said['kv_layers']} of {said['model_layers']} layers"
    yield f"a step: {ms['measured_s']:.2f} ms measured in {layers}"
    yield f"  extrapolated to all: ~{ms['extrapolated_s']:.2f} ms"
    beside = f"with all else as predicted for {said['derived']['predicted_for']}"
    yield f"  derived: ~{ms['derived_s']:.2f} ms {beside}"
    followed = said["verify"]["slots_followed"]
    yield check(followed > 0, f"{followed:,} slots compared in the ghost pool, every step")


def _memory(said: dict[str, Any]) -> Iterator[str]:
    memory = said["memory"]
    parts = ((name, memory[f"{name}_bytes"]) for name in ("pool", "reserved", "others", "free"))
    yield "memory: " + ", ".join(f"{n} {'–' if b is None else f'{b / MIB:,.0f} MiB'}" for n, b in parts)
    if memory["reserved_bytes"] is not None:
        yield check(memory["reserved_bytes"] > 0, "torch reserved the pools and more")
    energy = said["energy_j_per_token"]
    yield f"energy: {'–' if energy is None else f'{energy:.3g} J a token, whole device'}"


def driver(device: Device) -> Iterator[str]:
    from kvtui.backends.readings import Readings

    readings = Readings(device)
    readings.refresh(now=True)
    for name, value in asdict(readings.driver).items():
        yield f"{name}: {'–' if value is None else value}"
    total, free = readings.driver.total_bytes, readings.driver.free_bytes
    if total is not None and free is not None:
        apart = abs(free - device.free_bytes())
        yield check(apart < total / 50, f"free memory by driver and torch: {apart / MIB:,.0f} MiB apart")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--requests", type=int, default=200, help="of the chat workload, in the comparison")
    options = parser.parse_args()
    device = Device(options.device)
    device.settle()
    sections: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
        ("Device", lambda: hardware(device)),
        ("Driver", lambda: driver(device)),
        ("What is read is right", lambda: verification(device)),
        ("Forks, copies, swaps", lambda: sharing(device)),
        ("Windows", lambda: windows(device)),
        ("K/V in 8 bits", lambda: kv_types(device)),
        ("Kernels that read through block tables", lambda: kernels(device)),
        ("Decode attention, one layer, 32 query and 8 K/V heads of 128", lambda: timings(device)),
        ("Contiguous and paged at equal bytes", lambda: lanes(device, options.requests)),
    )
    for title, section in sections:
        say(title, section())
    print(f"\n{'all is well' if not failures else 'FAILED: ' + '; '.join(failures)}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
