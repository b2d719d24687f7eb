"""The block pool against a plain list that is the free queue."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kvtui.memory import pool as pool_module
from kvtui.memory.pool import BlockPool

BLOCKS = 12


class PoolMachine(RuleBasedStateMachine):
    """Takes, shares and gives back at random; the model is one list from the next block out to the last."""

    lifo = True

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(BLOCKS, lifo=self.lifo)
        self.queue = list(range(1, BLOCKS + 1))
        self.key_of: dict[int, int] = {}
        self.owners: dict[str, tuple[list[int], int]] = {}  # name -> table, keyed blocks
        self.made = 0

    @rule(n=st.integers(0, 6), keyed=st.integers(0, 6), key=st.integers(0, 5))
    def take(self, n: int, keyed: int, key: int) -> None:
        n = min(n, len(self.queue))
        table = self.pool.take(n)
        assert table == self.queue[:n]
        del self.queue[:n]
        for block in table:
            self.key_of.pop(block, None)
        keyed = min(keyed, n)
        keys = [key * 10 + i for i in range(keyed)]
        self.pool.register(table[:keyed], keys)
        self.key_of.update(zip(table[:keyed], keys, strict=True))
        self.owners[f"o{self.made}"] = table, keyed
        self.made += 1

    @precondition(lambda self: self.owners)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.owners)))
        table, keyed = self.owners.pop(name)
        held = [b for other, _ in self.owners.values() for b in other]
        freed = [b for b in reversed(table) if b not in held]
        plain = [b for b in freed if b not in self.key_of]
        kept = [b for b in freed if b in self.key_of]
        self.queue = [*plain, *self.queue, *kept] if self.lifo else [*self.queue, *plain, *kept]
        self.pool.give_back(0, table, keyed, keyed)

    @precondition(lambda self: self.key_of)
    @rule(data=st.data())
    def share(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(set(self.key_of.values()))))
        block = self.pool.find(key)
        assert block is not None
        assert self.key_of[block] == key
        assert self.pool.idle(block) == (block in self.queue)
        self.pool.share(block)
        if block in self.queue:
            self.queue.remove(block)
        self.owners[f"o{self.made}"] = [block], 1
        self.made += 1

    @precondition(lambda self: any(block in self.key_of for block in self.queue))
    @rule(data=st.data(), most=st.integers(1, 6))
    def share_all(self, data: st.DataObject, most: int) -> None:
        block = data.draw(st.sampled_from(sorted(b for b in self.queue if b in self.key_of)))
        first = self.key_of[block] // 10 * 10
        keys = list(range(first, first + 6))
        blocks = self.pool.find_all(keys, most)
        assert [self.key_of[block] for block in blocks] == keys[: len(blocks)]
        assert len(blocks) == most or keys[len(blocks)] not in self.key_of.values()
        assert self.pool.idle_among(keys, blocks) == sum(b in self.queue for b in blocks)
        self.pool.share_all(1, keys, blocks)
        self.queue = [b for b in self.queue if b not in blocks]
        self.owners[f"o{self.made}"] = blocks, len(blocks)
        self.made += 1

    @invariant()
    def agrees(self) -> None:
        assert self.pool.queue() == self.queue
        assert self.pool.free == len(self.queue)
        assert self.pool.cached == sum(b in self.key_of for b in self.queue)
        self.pool.check()


class OldPoolMachine(PoolMachine):
    lifo = False


class CutPoolMachine(PoolMachine):
    """Used entries of the queue are cut off again and again."""

    def __init__(self) -> None:
        super().__init__()
        self._cut, pool_module.CUT = pool_module.CUT, 1

    def teardown(self) -> None:
        pool_module.CUT = self._cut


TestPool = PoolMachine.TestCase
TestOldPool = OldPoolMachine.TestCase
TestCutPool = CutPoolMachine.TestCase
for case in (TestPool, TestOldPool, TestCutPool):
    case.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
del case


def test_the_oldest_copy_answers_and_its_twin_follows() -> None:
    pool = BlockPool(4)
    first, second = pool.take(1), pool.take(1)
    pool.register(first, [7])
    pool.register(second, [7])
    assert pool.find(7) == first[0]
    pool.give_back(0, first, 1, 1)
    pool.give_back(1, second, 1, 1)
    pool.take(3)  # two that were never used, then the first copy
    assert pool.find(7) == second[0]
    assert pool.evictions == 1
    pool.take(1)
    assert pool.find(7) is None


def test_a_block_answers_to_its_last_name_only() -> None:
    pool = BlockPool(4)
    first, second = pool.take(2)
    for block, key in ((first, 7), (second, 7), (first, 8)):
        pool.rename(block, key)
    assert (pool.find(7), pool.find(8)) == (second, first)
    pool.rename(second, 9)
    assert (pool.find(7), pool.find(9)) == (None, second)
    pool.check()


def test_who_was_taken_out_of_the_middle_is_passed_over() -> None:
    pool = BlockPool(4)
    table = pool.take(4)
    pool.register(table, [1, 2, 3, 4])
    pool.give_back(0, table, 4, 4)
    pool.share(table[1])
    pool.share_all(1, [3], [table[2]])
    assert pool.take(2) == [table[3], table[0]]


def test_used_entries_of_the_queue_are_cut_off() -> None:
    pool = BlockPool(100)
    table = pool.take(100)
    for _ in range(2000):
        pool.give_back(0, table, 0, len(table))
        place = pool.give_back(0, [], 0, 0)
        assert pool.survivors(place - 100, 100) == 100
        table = pool.take(100)
    assert len(pool._back) < 200_000
    assert pool.evictions == 200_000
