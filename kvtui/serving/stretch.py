"""Stretches: steps in a row in which the same requests decode and nobody comes or goes.

The time of a step is linear in its context, and the context grows by the batch in every step: times are an
arithmetic series. So a stretch is measured once, at its end, however many calls it was done in.
"""

from __future__ import annotations

from kvtui.memory.levels import Bought
from kvtui.serving.meter import Meter


class Stretch:
    """`decodes` requests go on for at most `left` steps; the first starts at `begin`, takes `first` ps and
    ends with `stored` tokens; each takes `rise` ps longer than the one before. They fill `beside` slots more
    all the time."""

    __slots__ = ("_to_do", "begin", "beside", "bought", "decodes", "first", "left", "next", "rise", "stored")

    def __init__(
        self, left: int, decodes: int, begin: int, first: int, rise: int, stored: int, beside: int
    ) -> None:
        self.left = left
        self.decodes = decodes
        self.begin = begin
        self.first = first
        self.rise = rise
        self.stored = stored
        self.beside = beside
        self.next = first  # ps, of the next step
        self._to_do = left  # when it was last measured
        self.bought = Bought()  # in these

    @property
    def steps(self) -> int:
        """Done and not measured yet."""
        return self._to_do - self.left

    def time(self, steps: int) -> int:
        """Of the next so many steps, in ps."""
        return steps * self.next + self.rise * (steps * (steps - 1) // 2)

    def within(self, room: int, most: int) -> int:
        """At most `most` steps such that the last one starts before `room` ps have passed; at least one."""
        return most if self.time(most) < room else within(self.next, self.rise, room, most)

    def measure(self, meter: Meter, block_size: int) -> None:
        """Add up what was done."""
        first, rise = self.first, self.rise
        meter.store_leap(self.steps, self.stored + self.beside, self.decodes, first, rise)
        meter.buy(self.begin, first, rise, self.bought, block_size)

    def begin_anew(self) -> None:
        """What was done is measured: the stretch goes on from there."""
        steps = self.steps
        self.begin += steps * self.first + self.rise * (steps * (steps - 1) // 2)
        self.stored += steps * self.decodes
        self.first, self._to_do, self.bought = self.next, self.left, Bought()


def within(first: int, rise: int, room: int, most: int) -> int:
    """At most `most` steps, which take as long or longer, such that the last one starts before `room` ps have
    passed; at least one. The first takes `first` ps, each `rise` ps longer than the one before."""
    if room <= 0:
        return 1
    high = min(most, room // first + 1)  # so many steps do not end before, and so many do:
    low = (room - 1) // (first + (rise * (high - 1) + 1) // 2)
    while high - low > 1:
        middle = (low + high) // 2
        if middle * first + rise * (middle * (middle - 1) // 2) < room:
            low = middle
        else:
            high = middle
    return high
