"""Groups of sequences: nothing leaks, nobody reads what is not his, leaps do what steps do."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from kvtui.backends.ghost import GhostObserver, Mismatch, Stories
from kvtui.groups.beams import BeamTree
from kvtui.groups.engine import GroupEngine
from kvtui.groups.fanout import widths
from kvtui.groups.link import Link
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.memory.hits import NO_HITS
from kvtui.serving.engine import UNLIMITED
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request
from kvtui.timing.roofline import LinearCost
from tests.serving.build import workload
from tests.sharing.worlds import LINK, paper_rules, world

SEEDS = range(14)


def memory(engine: GroupEngine) -> ForkingMemoryManager:
    assert isinstance(engine.manager, ForkingMemoryManager)
    return engine.manager


def held(engine: GroupEngine) -> Counter[int]:
    """Who holds what, from the tables alone."""
    tables = [r.table for r in engine.scheduler.running.values()]
    pinned = memory(engine).pinned_blocks
    return Counter([*pinned, *(block for table in tables for block in table)])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_block_is_free_or_held_and_counted(seed: int) -> None:
    engine = world(seed)
    manager = memory(engine)
    while engine.step():
        owners = held(engine)
        assert manager.free_blocks + len(owners) == manager.blocks
        assert {b: n - 1 for b, n in owners.items() if n > 1} == manager.pool.extra
        manager.pool.check()
    manager.check()
    assert manager.free_blocks == manager.blocks - len(manager.pinned_blocks)
    assert manager.host_free == manager.host_blocks


@pytest.mark.parametrize("seed", SEEDS)
def test_every_sequence_reads_its_own_context(seed: int) -> None:
    engine = world(seed)
    ghost = GhostObserver(engine, Stories(engine.manager.block_size))
    engine.run()
    assert ghost.reads


def test_the_worlds_do_what_they_are_for() -> None:
    engines = [world(seed) for seed in SEEDS]
    for engine in engines:
        engine.run()
    managers = [memory(engine) for engine in engines]
    assert sum(m.copies for m in managers) > 1000
    assert sum(m.swapped_in for m in managers) > 100
    assert sum(len(m.pinned_blocks) for m in managers) > 5
    assert sum(e.scheduler.preemptions for e in engines) > 40
    assert not any(e.stuck for e in engines)


@pytest.mark.parametrize("seed", SEEDS)
def test_everybody_gets_all_tokens_once(seed: int) -> None:
    engine = world(seed)
    engine.run()
    refused = set(engine.results.refusals)
    served = [n for n in range(len(engine.workload)) if n not in refused]
    wanted = (widths(engine.workload) * engine.workload.output)[served]
    assert engine.results.finished == len(served)
    assert engine.output_tokens == int(wanted.sum())
    assert len(engine.results.ttft) == len(served)


@pytest.mark.parametrize("seed", SEEDS[:8])
def test_leaps_are_steps(seed: int) -> None:
    one, many = world(seed), world(seed)
    while one.step():
        pass
    while many.step(UNLIMITED):
        pass
    assert one.scheduler.step == many.scheduler.step
    assert one.results.finish == many.results.finish
    assert one.meter.totals() == many.meter.totals()
    assert memory(one).copies == memory(many).copies


def test_who_was_preempted_is_counted_until_it_is_back() -> None:
    most = blocked = 0
    for engine in map(world, SEEDS[:6]):
        scheduler = engine.scheduler
        while engine.step():
            away = [*scheduler.waiting.first(), *scheduler.aside]
            assert scheduler.preempted_waiting == sum(r.phase is Phase.PREEMPTED for r in away)
            assert all(r.phase is Phase.PREEMPTED for r in scheduler.aside), "who is back is not aside"
            most = max(most, len(scheduler.aside))
            blocked += scheduler.blocked and bool(scheduler.aside)
    assert most > 1, "groups never stood aside"
    assert blocked, "nobody aside ever waited for memory"


def test_a_step_that_swaps_takes_the_time_of_the_link() -> None:
    load, rules, memory = workload([(0, 20, 5)]), paper_rules(), ForkingMemoryManager(1600)
    plain, linked = (GroupEngine(load, rules, memory, LinearCost(), link=link) for link in (None, LINK))
    plan = Plan(0)
    assert linked._duration(plan) == plain._duration(plan)
    plan.swapped_out, plan.swapped_in = 300, 20
    assert linked._duration(plan) == LINK.step(plain._duration(plan), 320) > plain._duration(plan)


def single(prompt: int, output: int, *, samples: int = 1, beams: int = 0, blocks: int = 64) -> GroupEngine:
    load = workload([(0, prompt, output)])
    load = replace(load, samples=np.array([samples]), beams=np.array([beams]))
    return GroupEngine(load, paper_rules(), ForkingMemoryManager(blocks * 16), LinearCost())


def test_samples_share_the_prompt_and_copy_its_unfilled_end() -> None:
    engine = single(40, 20, samples=4)
    manager = memory(engine)
    engine.step()  # the prompt: two full blocks and one that is half full
    assert manager.blocks - manager.free_blocks == 3
    assert manager.pool.shared == 9
    assert manager.levels(None).twice == 3 * 40
    engine.step()  # three of four copy the last block before they write
    assert manager.copies == 3
    assert manager.blocks - manager.free_blocks == 2 + 4
    engine.run()
    assert manager.copies == 3
    assert engine.output_tokens == 80


def test_a_prompt_of_whole_blocks_needs_no_copy() -> None:
    engine = single(32, 20, samples=4)
    engine.run()
    assert memory(engine).copies == 0


def test_beams_fork_prune_and_share_more_than_samples() -> None:
    beams, samples = single(40, 200, beams=4), single(40, 200, samples=4)
    for engine in (beams, samples):
        engine.run()
    saved = [e.meter.twice / (e.meter.twice + e.meter.held) for e in (beams, samples)]
    assert saved[0] > 2 * saved[1]
    assert memory(beams).copies > 10


def test_beams_branch_as_their_tree_says() -> None:
    engine, forks = single(40, 30, beams=4), []

    class Watch:
        def updated(self, engine: GroupEngine, plan: Plan) -> None:
            forks.append([(sequence.sequence, parent.sequence) for sequence, parent, _ in plan.forks])

        def __getattr__(self, name: str) -> object:
            return lambda *_: None

    engine.observer = Watch()  # type: ignore[assignment]
    engine.run()
    tree = BeamTree(0, 4)
    stories = [enumerate(tree.parents(length)) for length in range(2, 30)]
    moves = [[(beam, parent) for beam, parent in story if parent != beam] for story in stories]
    assert forks == [[(1, 0), (2, 0), (3, 0)], *moves, []]


def test_two_beams_are_enough_to_fork_and_prune() -> None:
    beams, samples = single(40, 200, beams=2), single(40, 200, samples=2)
    for engine in (beams, samples):
        engine.run()
    assert memory(samples).copies == 1
    assert memory(beams).copies > 10


def test_leaps_wait_for_beams_only_while_there_are_some() -> None:
    load = replace(workload([(0, 16, 20), (0, 16, 300)]), beams=np.array([4, 1]))
    engine = GroupEngine(load, paper_rules(), ForkingMemoryManager(6400), LinearCost())
    while engine.results.finish[0] < 0:
        engine.step(UNLIMITED)
    assert engine.scheduler.step == 20
    calls = 1
    while engine.step(UNLIMITED):
        calls += 1
    assert engine.scheduler.step == 300
    assert calls < 10


@pytest.mark.parametrize(("seats", "together"), [(6, 3), (5, 2), (4, 2), (3, 1)])
def test_every_sequence_has_a_seat(seats: int, together: int) -> None:
    load = replace(workload([(0, 16, 60)] * 3), samples=np.array([2, 2, 2]))
    engine = GroupEngine(load, paper_rules(seqs=seats), ForkingMemoryManager(6400), LinearCost())
    engine.step()
    assert (engine.scheduler.batch, len(engine.scheduler.running)) == (together, 2 * together)


@pytest.mark.parametrize(
    ("preempt", "samples", "swapped"),
    [("auto", 1, False), ("auto", 2, True), ("swap", 1, True), ("recompute", 2, False)],
)
def test_who_is_swapped_and_who_is_computed_again(preempt: str, samples: int, swapped: bool) -> None:
    load = replace(workload([(0.01 * i, 16, 60) for i in range(3)]), samples=np.full(3, samples))
    manager = ForkingMemoryManager(10 * 16 * samples, host_blocks=100)
    engine = GroupEngine(load, paper_rules(), manager, LinearCost(), preempt=preempt)
    engine.run()
    assert engine.scheduler.preemptions > 0
    assert engine.results.finished == 3
    assert (manager.swapped_out > 0) == swapped


def test_groups_that_come_back_find_their_seats() -> None:
    load = workload([(0.01 * i, 16, 20 + 9 * (i % 5)) for i in range(30)])
    load = replace(load, samples=np.array([1, 2, 3] * 10))
    manager = ForkingMemoryManager(14 * 16, host_blocks=40)
    engine = GroupEngine(load, paper_rules(seqs=6), manager, LinearCost(), preempt="swap")
    most = 0
    while engine.step():
        most = max(most, len(engine.scheduler.running))
    assert most == 6
    assert engine.results.finished == 30
    assert manager.swapped_in > 20


def test_one_request_that_fits_alone_is_served_however_tight() -> None:
    engine = single(40, 100, beams=4, blocks=2 + 4 * 7)
    engine.run()
    assert engine.results.finished == 1
    engine = single(40, 100, beams=4, blocks=2 + 4 * 7 - 1)
    engine.run()
    assert engine.results.refusals == {0: (30, 29)}


def test_a_group_is_preempted_whole_and_the_latest_first() -> None:
    load = workload([(0, 16, 60), (0.01, 16, 60), (0.02, 16, 60)])
    load = replace(load, samples=np.array([2, 2, 2]))
    manager = ForkingMemoryManager(20 * 16, host_blocks=100)
    engine = GroupEngine(load, paper_rules(), manager, LinearCost())
    victims: list[int] = []

    class Watch:
        def scheduled(self, engine: GroupEngine, plan: Plan) -> None:
            victims.extend(victim.number for victim, _, _ in plan.preempted)
            running = Counter(r.number for r in engine.scheduler.running.values())
            assert all(n == 2 for number, n in running.items() if not chunking(engine, number))

        def __getattr__(self, name: str) -> object:
            return lambda *_: None

    def chunking(engine: GroupEngine, number: int) -> bool:
        return any(r.chunking for r in engine.scheduler.running.values() if r.number == number)

    engine.observer = Watch()  # type: ignore[assignment]
    engine.run()
    assert victims[0] == 2
    assert 0 not in victims
    assert manager.swapped_in == manager.swapped_out > 0
    assert list(engine.results.finish) == sorted(engine.results.finish)


@pytest.mark.parametrize(("budget", "beside"), [(63, True), (62, False)])
def test_a_group_computed_again_computes_what_it_shares_once(budget: int, beside: bool) -> None:
    """Three sequences of 42 tokens, 32 of them shared, are 42 + 2 * 10 tokens of a step beside one decode."""
    load = replace(workload([(0, 14, 100), (0, 14, 5), (0, 40, 8)]), samples=np.array([1, 1, 3]))
    rules = replace(paper_rules(), max_num_batched_tokens=budget, watermark=0.0)
    engine = GroupEngine(load, rules, ForkingMemoryManager(8 * 16), LinearCost(), preempt="recompute")
    engine.run()
    assert engine.scheduler.preemptions == 1
    long, _, group = engine.results.finish
    assert (group < long) == beside


@pytest.mark.parametrize(("host_blocks", "moved"), [(3, 3), (2, None)])
def test_a_sequence_is_swapped_out_as_long_as_host_memory_holds_it(
    host_blocks: int, moved: int | None
) -> None:
    memory = ForkingMemoryManager(32, 4, host_blocks=host_blocks)
    request = Request(0, 12, 4)
    assert memory.admit(request, NO_HITS, 12)
    assert memory.swap_out([request]) == moved
    assert memory.free_blocks == (8 if moved else 5)


def test_a_slow_link_shows_and_overlap_hides_it() -> None:
    slow = Link.of(layers=40, block_bytes=13 << 20, bandwidth=1e9)
    assert slow.step(0, 10) == round(slow.seconds(10) * 1e12)
    assert slow.step(10**13, 10) > 10**13
    assert replace(slow, overlap=True).step(10**13, 10) == 10**13


def forgotten_reference(patch: pytest.MonkeyPatch) -> None:
    """A fork shares blocks without saying so."""

    def share(self: ForkingMemoryManager, sequence: Request, blocks: list[int]) -> None:
        pass

    patch.setattr(ForkingMemoryManager, "_share", share)


def no_copy(patch: pytest.MonkeyPatch) -> None:
    """Everybody writes to the shared block."""

    def copy(self: ForkingMemoryManager, sequences: list[Request], step: int) -> None:
        self._tails, self._writers = {}, []

    patch.setattr(ForkingMemoryManager, "_copy_for", copy)


def lost_in_host_memory(patch: pytest.MonkeyPatch) -> None:
    """Blocks come back in another order."""
    original = ForkingMemoryManager.swap_out

    def swap_out(self: ForkingMemoryManager, sequences: list[Request]) -> int | None:
        moved = original(self, sequences)
        for table in self._away.get(sequences[0].number, []):
            table.reverse()
        return moved

    patch.setattr(ForkingMemoryManager, "swap_out", swap_out)


@pytest.mark.parametrize("bug", [forgotten_reference, no_copy, lost_in_host_memory])
def test_a_planted_bug_is_caught(bug: object, monkeypatch: pytest.MonkeyPatch) -> None:
    assert callable(bug)
    bug(monkeypatch)
    found = 0
    for seed in SEEDS:
        engine = world(seed)
        GhostObserver(engine, Stories(engine.manager.block_size))
        try:
            engine.run()
        except (Mismatch, AssertionError, KeyError, ValueError, IndexError):
            found += 1
    assert found > 2
