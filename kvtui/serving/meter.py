"""Time-weighted sums of a run, exact in integers: k steps in one leap add what k single steps add.

Levels are only looked at when they change: what stood since the last change is added then.
"""

from __future__ import annotations

from itertools import accumulate, chain, count
from operator import mul

from kvtui.memory.levels import NOTHING, Bought, Levels


class Meter:
    """Sums of (quantity x ps) over the time the engine was stepping, in a memory of `slots`. `flush` brings
    them up to a moment."""

    def __init__(self, slots: int) -> None:
        self.time = 0
        self.running = 0
        self.stored = 0  # slots with K/V, shared ones once
        self.final = 0  # tokens the running requests will have in the end
        self.held = 0
        self.twice = 0  # of shared blocks: slots counted once more for every reference beyond the first
        self.hole = 0
        self.cached = 0
        self.blocked = 0  # time in which the next request waited for memory
        self.peak = 0  # requests running at once
        self._slots = slots
        self._lost = 0  # of an earlier size: slots x ps that there were fewer than of this one
        self._since = 0
        self._running = 0
        self._final = 0
        self._blocked = False
        self._seldom = False  # whether any of those is there that seldom are
        self._held, self._twice, self._hole, self._cached, _ = NOTHING

    @property
    def free(self) -> int:
        """Slots that belong to nobody, cached ones included."""
        return self._slots * self.time - self._lost - self.held

    def resize(self, slots: int) -> None:
        """From now on the memory has so many slots."""
        self._lost += (slots - self._slots) * self.time
        self._slots = slots

    def flush(self, now: int) -> None:
        """Add what stood from the last change until `now`."""
        dt = now - self._since
        if dt:
            self._since = now
            self.time += dt
            self.running += dt * self._running
            self.final += dt * self._final
            self.held += dt * self._held
            self.cached += dt * self._cached
            if self._seldom:
                self.stored -= dt * self._twice
                self.twice += dt * self._twice
                self.hole += dt * self._hole
                self.blocked += dt * self._blocked

    def skip(self, now: int) -> None:
        """Nothing runs until `now`."""
        self._since = now

    def set(self, now: int, running: int, final: int, levels: Levels, *, blocked: bool) -> None:
        """From `now` on these levels stand."""
        self.flush(now)
        self._running = running
        self._final = final
        self._blocked = blocked
        self._held, self._twice, self._hole, self._cached, _ = levels
        self._seldom = blocked or self._twice > 0 or self._hole > 0
        if running > self.peak:
            self.peak = running

    def buy(self, begin: int, first: int, rise: int, bought: Bought, size: int) -> None:
        """Blocks of `size` free slots were taken in successive steps from `begin` on; step i took first + i *
        rise ps. The new levels will count from the last change on: what that is too much is taken back."""
        taken = bought.blocks
        total = sum(taken) * size
        if not total:
            return
        past = begin - self._since
        area = _area(taken, past, first, rise) * size
        without = self._slots - self._held - self._cached
        self._held += total
        self.held -= area
        if bought.cached:
            self._cached -= sum(bought.cached) * size
            self.cached += _area(bought.cached, past, first, rise) * size
        elif total > without:
            self._cached = self._slots - self._held
            self.cached += area
            if without:
                self.cached -= _area(_leading(taken, without // size), past, first, rise) * size

    def store(self, stored: int, dt: int) -> None:
        """A step of `dt` ps that ends with `stored` tokens."""
        self.stored += stored * dt

    def store_leap(self, steps: int, stored: int, more: int, first: int, rise: int) -> None:
        """Decode-only steps: step i takes first + i * rise ps and ends with stored + i * more tokens."""
        pairs = steps * (steps - 1) // 2
        # Sum over i of i * (first + i * rise), and the plain sum of the times.
        weighted = first * pairs + rise * (steps - 1) * steps * (2 * steps - 1) // 6
        self.stored += stored * (steps * first + rise * pairs) + more * weighted

    def totals(self) -> dict[str, int]:
        """All sums by name."""
        sums = {name: n for name, n in vars(self).items() if not name.startswith("_")}
        return sums | {"free": self.free}


def _area(taken: list[int], past: int, first: int, rise: int) -> int:
    """Sum over steps of what they took times the time before them, which was `past` before the first."""
    area: int = past * sum(taken) + first * sum(map(mul, taken, count()))
    if rise:
        area += rise * sum(map(mul, taken, accumulate(chain((0,), count()))))
    return area


def _leading(taken: list[int], blocks: int) -> list[int]:
    """What of each step's blocks were among the first `blocks`."""
    leading = []
    for n in taken:
        leading.append(min(n, blocks))
        blocks -= n
        if blocks <= 0:
            break
    return leading
