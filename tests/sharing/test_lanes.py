"""The systems as lanes: by name, headless, on the screen's camera, saved and restored."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kvtui.answers.report import summary
from kvtui.backends.ghost import GhostObserver, Stories
from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec, named
from kvtui.errors import ConfigError
from kvtui.frames.frame import Cell, EventKind
from kvtui.groups.static import StaticScheduler
from kvtui.hardware import catalogue
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.request import Phase
from kvtui.serving.rules import Rules
from kvtui.timing.roofline import LinearCost
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_S
from tests.serving.build import workload

NAMES = (
    "vllm-sosp",
    "vllm-sosp:swap,overlap=on",
    "orca:max",
    "orca:pow2",
    "orca:oracle",
    "static",
    "slots:3",
)


def load(*, samples: int = 1, beams: int = 0) -> Workload:
    plain = workload([(i * 0.02, 20 + i % 40, 5 + (7 * i) % 60) for i in range(60)])
    n = len(plain)
    return replace(plain, samples=np.full(n, samples), beams=np.full(n, beams))


def experiment(names: tuple[str, ...], requests: Workload, *, slots: int = 1200) -> Experiment:
    model, gpu = catalogue.model("opt-13b"), catalogue.gpu("a100-40")
    lanes = tuple(LaneSpec.parse(name) for name in names)
    return Experiment(requests, model, gpu, lanes, slots=slots, max_len=128)


def test_names_are_read_and_written_back() -> None:
    for name in NAMES:
        spec = LaneSpec.parse(name)
        assert LaneSpec.parse(spec.options) == spec
    assert LaneSpec.parse("orca:oracle").reserve == "exact"
    assert LaneSpec.parse("slots:8").slots == 8
    assert LaneSpec.parse("static:8").batch == 8
    assert LaneSpec.parse("vllm-sosp:32,link=12.5").link == 12.5


@pytest.mark.parametrize("text", ["slots:0", "vllm-sosp:link=fast", "orca:buddy", "static:swap", "sosp"])
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        LaneSpec.parse(text)


@pytest.mark.parametrize("name", NAMES)
def test_every_system_can_have_real_tensors(name: str) -> None:
    assert LaneSpec.parse(name, default=LaneSpec("", backend="torch")).measured
    assert LaneSpec.parse(name).backend == "simulated"


def test_lanes_of_one_system_have_names_that_tell_them_apart() -> None:
    texts = ("orca:max", "orca:oracle", "slots:2", "slots:4", "vllm-sosp:8", "vllm-sosp")
    names = [spec.name for spec in named(tuple(map(LaneSpec.parse, texts)))]
    assert names == ["orca-max", "orca-exact", "slots-2", "slots-4", "sosp-8", "sosp-16"]


@pytest.mark.parametrize("name", NAMES)
def test_every_step_makes_a_picture_that_adds_up(name: str) -> None:
    (lane,) = experiment((name,), load(samples=2)).build()
    while lane.step():
        frame = lane.frame()
        cells, counters = frame.cells, frame.counters
        assert sum(counters.split) == pytest.approx(100, abs=0.01)
        held = (cells.state == Cell.HELD) | (cells.state == Cell.NEVER)
        assert held.sum() == lane.info.blocks - lane.engine.manager.free_blocks
        assert (cells.owner[held] >= 0).all()
        assert len({row.request for row in frame.running}) == min(counters.running, 64)
    assert lane.frame().counters.unfinished == 0


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_lane_goes_on_as_if_nothing_had_happened(name: str) -> None:
    lane = experiment((name,), load(samples=2, beams=3 if "sosp" in name else 0)).build()[0]
    saved = Checkpoints(lane, every=16)
    while lane.step():
        saved.note(lane)
    again = saved.at_step(40)
    again.run()
    assert again.engine.results.finish == lane.engine.results.finish
    assert again.engine.meter.totals() == lane.engine.meter.totals()


def test_systems_without_groups_run_every_sequence_as_a_request() -> None:
    runs = experiment(("orca:oracle", "paged", "vllm-sosp"), load(samples=3))
    lanes = runs.build(watched=False)
    for lane in lanes:
        lane.run()
    reports = summary(runs, lanes)["lanes"]
    assert [report["requests"]["total"] for report in reports] == [180, 180, 60]
    assert len({report["output_tokens"] for report in reports}) == 1
    saved = [report["sharing"]["saved_pct"] for report in reports]
    assert saved[0] == 0
    assert saved[1] > 10  # the copies of a prompt meet in the prefix cache
    assert saved[2] > 10
    assert reports[2]["sharing"]["copied_blocks"] > 0


def test_what_is_swapped_out_is_not_told_to_be_computed_again() -> None:
    (lane,) = experiment(("vllm-sosp",), load(samples=4), slots=700).build()
    kinds = set()
    while lane.step():
        kinds |= {event.kind for event in lane.frame().events}
    assert lane.frame().counters.swapped_out > 0
    assert EventKind.SWAPPED in kinds
    assert EventKind.PREEMPTED not in kinds
    events = lane.frame(events=500).events
    gone = next(event for event in events if event.kind is EventKind.SWAPPED)
    again = [e for e in events if e.request == gone.request and e.step > gone.step]
    assert again[-1].kind is EventKind.ADMITTED
    assert again[-1].a == 0


def test_every_preemption_is_one_of_its_request() -> None:
    (lane,) = experiment(("vllm-sosp",), load(samples=4), slots=700).build()
    scheduler, most = lane.engine.scheduler, Counter[int]()
    while lane.step():
        for request in scheduler.aside:
            most[request.number] = request.preemptions
    assert scheduler.preemptions > 0
    assert most.total() == scheduler.preemptions


def test_a_static_batch_holds_its_memory_until_its_last_answer() -> None:
    requests = workload([(0, 20, 5), (0, 20, 50), (0.1, 20, 5)])
    (lane,) = experiment(("static",), requests, slots=3 * 128).build(watched=False)
    lane.run()
    finish = lane.engine.results.finish
    assert finish[0] == finish[1] < finish[2]


def test_who_is_done_is_no_more_part_of_a_static_batch() -> None:
    """Every step takes a second: requests that run, summed over time, are the tokens they get."""
    requests = workload([(0, 20, 5), (0, 20, 50), (0, 20, 12)])
    rules = Rules(128, max_num_batched_tokens=384, max_num_seqs=3, enable_chunked_prefill=False)
    for limit in (1, UNLIMITED):
        memory = ContiguousMemoryManager(384, 128)
        cost = LinearCost(PS_PER_S, 0, 0)
        engine = Engine(requests, rules, memory, cost, scheduler=StaticScheduler(rules, memory))
        engine.step(limit)
        batch = list(engine.scheduler.running.values())
        while engine.step(limit):
            pass
        assert [request.phase for request in batch] == [Phase.FINISHED] * 3
        assert engine.now_ps == 50 * PS_PER_S
        assert engine.meter.running == (5 + 50 + 12) * PS_PER_S
        assert engine.meter.blocked == 0, "nobody waits for memory"


def test_equal_slots_cut_what_is_longer_and_refuse_what_does_not_fit() -> None:
    requests = workload([(0, 20, 90), (0, 120, 5), (0, 20, 5)])
    (lane,) = experiment(("slots:4",), requests, slots=4 * 64).build(watched=False)
    lane.run()
    results = lane.engine.results
    assert list(results.refusals) == [1]
    assert lane.engine.output_tokens == (64 - 20) + 5


@pytest.mark.parametrize("name", [name for name in NAMES if "sosp" not in name])
def test_the_ghost_sees_nothing_wrong(name: str) -> None:
    (lane,) = experiment((name,), load(samples=2)).build(watched=False)
    ghost = GhostObserver(lane.engine, Stories(lane.engine.manager.block_size))
    lane.run()
    assert ghost.reads
