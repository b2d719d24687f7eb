"""Sums over time are those of a book that is kept at every moment."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvtui.memory.levels import Bought, Levels
from kvtui.serving.meter import Meter

SLOTS = 64
small = st.integers(0, 9)


@st.composite
def moments(draw: st.DrawFn) -> list[tuple[int, bool, int, tuple[int, int, Levels, bool]]]:
    """(ps that pass, whether nobody runs in them, slots from then on, what stands from then on)."""
    found = []
    for _ in range(draw(st.integers(1, 8))):
        held = draw(st.integers(0, SLOTS))
        hole, cached = draw(st.integers(0, SLOTS - held)), draw(st.integers(0, SLOTS - held))
        levels = Levels(held, draw(small), hole, cached, SLOTS - held)
        stands = draw(small), draw(small), levels, draw(st.booleans())
        found.append((draw(st.integers(0, 20)), draw(st.booleans()), draw(st.integers(SLOTS, 99)), stands))
    return found


@given(moments())
def test_what_stands_counts_as_long_as_it_stands(
    story: list[tuple[int, bool, int, tuple[int, int, Levels, bool]]],
) -> None:
    meter, now, slots = Meter(SLOTS), 0, SLOTS
    running, final, levels, blocked = 0, 0, Levels(0, 0, 0, 0, SLOTS), False
    book = dict.fromkeys(meter.totals(), 0)
    for passing, asleep, slots_then, stands in story:
        now += passing
        if asleep:
            meter.skip(now)
        else:
            meter.flush(now)
            amounts = {"time": 1, "running": running, "final": final, "blocked": blocked}
            amounts |= {"held": levels.held, "twice": levels.twice, "hole": levels.hole}
            amounts |= {"cached": levels.cached, "stored": -levels.twice, "free": slots - levels.held}
            for name, amount in amounts.items():
                book[name] += amount * passing
        meter.resize(slots_then)
        slots = slots_then
        running, final, levels, blocked = stands
        meter.set(now, running, final, levels, blocked=blocked)
        book["peak"] = max(book["peak"], running)
    assert meter.totals() == book


@given(
    held=st.integers(0, 8),
    cached=st.integers(0, 8),
    size=st.integers(1, 4),
    clock=st.tuples(st.integers(0, 20), st.integers(1, 20), st.integers(0, 5), st.integers(0, 9)),
    taken=st.lists(st.integers(0, 4), min_size=1, max_size=6),
    spare=st.integers(0, 3),
    told=st.booleans(),
)
def test_blocks_count_from_the_step_that_takes_them(
    held: int,
    cached: int,
    size: int,
    clock: tuple[int, int, int, int],
    taken: list[int],
    spare: int,
    told: bool,
) -> None:
    """Blocks without content go first, unless it is `told` how many had any."""
    before, first, rise, after = clock
    slots = (held + max(cached, sum(taken)) + spare) * size
    meter = Meter(slots)
    meter.set(0, 1, 1, Levels(held * size, 0, 0, cached * size, slots - held * size), blocked=False)
    now, sums, bought = before, [held * size * before, cached * size * before], Bought()
    for i, n in enumerate(taken):
        held += n
        lost = min(n // 2, cached) if told else max(cached - (slots // size - held), 0)
        cached -= lost
        bought.blocks.append(n)
        if told:
            bought.cached.append(lost)
        dt = first + i * rise
        now += dt
        sums = [sums[0] + held * size * dt, sums[1] + cached * size * dt]
    meter.buy(before, first, rise, bought, size)
    meter.flush(now + after)
    sums = [sums[0] + held * size * after, sums[1] + cached * size * after]
    assert [meter.held, meter.cached] == sums
