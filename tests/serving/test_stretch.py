"""How many steps of growing length begin in time, and what a stretch done in pieces adds up to."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from kvtui.memory.levels import Levels
from kvtui.serving.meter import Meter
from kvtui.serving.stretch import Stretch, within


@given(first=st.integers(1, 60), rise=st.integers(0, 20), room=st.integers(-5, 3000), most=st.integers(1, 60))
@example(first=10, rise=0, room=10, most=5)
@example(first=10, rise=0, room=0, most=5)
@example(first=1, rise=1, room=1, most=2)
def test_the_last_step_begins_before_the_room_is_used(first: int, rise: int, room: int, most: int) -> None:
    starts = [sum(first + i * rise for i in range(step)) for step in range(most)]
    wanted = max(1, sum(start < room for start in starts))
    assert within(first, rise, room, most) == wanted
    assert Stretch(most, 1, 0, first, rise, 0, 0).within(room, most) == wanted


@given(
    pieces=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    shape=st.tuples(st.integers(1, 5), st.integers(1, 60), st.integers(0, 20), st.integers(0, 50)),
    beside=st.integers(0, 30),
)
def test_pieces_add_up_to_the_steps(pieces: list[int], shape: tuple[int, int, int, int], beside: int) -> None:
    decodes, first, rise, stored = shape
    stretch = Stretch(sum(pieces), decodes, 0, first, rise, stored, beside)
    meter, stepwise = Meter(1000), 0
    meter.set(0, decodes, 0, Levels(500, 0, 0, 0, 500), blocked=False)
    for i in range(sum(pieces)):
        stepwise += (stored + beside + i * decodes) * (first + i * rise)
    for steps in pieces:
        assert stretch.time(steps) == sum(stretch.next + i * rise for i in range(steps))
        stretch.left -= steps
        stretch.next += steps * rise
        stretch.measure(meter, 1)
        stretch.begin_anew()
    assert meter.stored == stepwise
    assert stretch.begin == sum(first + i * rise for i in range(sum(pieces)))
