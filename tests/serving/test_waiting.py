"""The waiting queues against a sorted list."""

from __future__ import annotations

import random

import pytest

from kvtui.serving.request import Request
from kvtui.serving.waiting import queue_for, victim_of


@pytest.mark.parametrize("seed", range(20))
def test_the_most_urgent_comes_first_whoever_goes_away(seed: int) -> None:
    rng, queue, there = random.Random(seed), queue_for("priority"), list[Request]()

    def rank(request: Request) -> tuple[int, int, int]:
        return request.priority, request.rank, request.tie

    for number in range(120):
        request = Request(number, 1, 1, priority=rng.randrange(4))
        request.rank, request.tie = rng.randrange(10), number
        queue.add(request)
        there.append(request)
        if rng.random() < 0.3:
            queue.remove(there.pop(rng.randrange(len(there))))
        there.sort(key=rank)
        assert [len(queue), *queue.first()] == [len(there), *there]
        some = rng.randrange(len(there) + 3)
        assert list(queue.first(some)) == there[:some]
        if there and rng.random() < 0.4:
            assert queue.head() is there[0]
            assert queue.take() is there.pop(0)


def test_first_come_first_served_and_who_gave_way_before_all() -> None:
    queue = queue_for("fcfs")
    first, second, back = (Request(number, 1, 1) for number in range(3))
    queue.add(first)
    queue.add(second)
    queue.put_back(back)
    assert list(queue.first(2)) == [back, first]
    assert [queue.head(), queue.take(), queue.take(), queue.take()] == [back, back, first, second]


def test_the_latest_gives_way_or_the_least_urgent() -> None:
    batch = [Request(number, 1, 1, priority=priority) for number, priority in enumerate([0, 2, 1, 2, 0])]
    assert victim_of("fcfs", batch) == 4
    assert victim_of("priority", batch) == 3
    batch[1].rank = batch[3].rank
    assert victim_of("priority", batch) == 1, "of equals, the one that came in first"
