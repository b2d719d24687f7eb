"""The phase wheel says of every step who begins a block, as looking at everybody would."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from kvtui.memory.wheel import PhaseWheel, affordable
from kvtui.serving.request import Request


def decoding(order: int, offset: int) -> Request:
    request = Request(order, 1, 1)
    request.order, request.offset = order, offset
    return request


@given(
    period=st.integers(1, 5),
    moves=st.lists(st.tuples(st.integers(0, 7), st.integers(-9, 9)), max_size=20),
    step=st.integers(0, 20),
)
def test_everybody_stands_where_the_next_block_begins(
    period: int, moves: list[tuple[int, int]], step: int
) -> None:
    """Whoever of eight has its turn enters, in whatever order, or leaves."""
    wheel, inside = PhaseWheel(period), dict[int, Request]()
    for order, offset in moves:
        if order in inside:
            assert wheel.has(inside[order])
            wheel.leave(inside.pop(order))
        else:
            inside[order] = decoding(order, offset)
            assert not wheel.has(inside[order])
            wheel.enter(inside[order])
    wheel = pickle.loads(pickle.dumps(wheel))
    turn = [
        [order for order in sorted(inside) if not (inside[order].offset + at) % period]
        for at in range(step, step + period)
    ]
    assert wheel.count == len(inside)
    assert sorted(r.order for r in wheel.all()) == sorted(inside)
    assert [r.order for r in wheel.at(step)] == turn[0]
    assert [[r.order for r in view] for view in wheel.span(step, period)] == turn
    assert len(wheel.span(step, 10 * period)) >= period
    at = step % period
    assert wheel.sizes[at : at + period] == list(map(len, turn))


@given(sizes=st.lists(st.integers(0, 9), min_size=1), data=st.data())
def test_the_leading_steps_that_can_be_paid(sizes: list[int], data: st.DataObject) -> None:
    free = data.draw(st.integers(0, sum(sizes)))
    if sum(sizes) > free:
        steps, total = affordable(sizes, free)
        assert total == sum(sizes[:steps]) <= free < sum(sizes[: steps + 1])
