"""Time-weighted sums of a run, exact in integers: k steps in one leap add what k single steps add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvtui.memory.levels import Levels


@dataclass(slots=True)
class Meter:
    """Sums of (quantity x ps) over the time the engine was stepping."""

    time: int = 0
    running: int = 0
    stored: int = 0  # slots with K/V, shared ones once
    final: int = 0  # tokens the running requests will have in the end
    held: int = 0
    hole: int = 0
    cached: int = 0
    free: int = 0
    peak: int = 0  # requests running at once

    def add(self, dt: int, running: int, stored: int, final: int, levels: Levels) -> None:
        """One step of `dt` ps at these levels."""
        self.time += dt
        self.running += dt * running
        self.stored += dt * (stored - levels.twice)
        self.final += dt * final
        self.held += dt * levels.held
        self.hole += dt * levels.hole
        self.cached += dt * levels.cached
        self.free += dt * levels.free
        self.peak = max(self.peak, running)

    def add_leap(
        self,
        *,
        steps: int,
        first: int,
        rise: int,
        running: int,
        stored: int,
        final: int,
        before: Levels,
        block_size: int,
        bought: Sequence[tuple[int, int]],
    ) -> None:
        """`steps` decode-only steps: step i takes first + i * rise ps and ends with stored + i * running.

        `before` are the levels before the first of them; `bought` says in which step how many blocks left
        the free memory (never used and lost ones first, cached ones last).
        """
        pairs = steps * (steps - 1) // 2
        total = steps * first + rise * pairs
        # sum over i of i * (first + i * rise)
        weighted = first * pairs + rise * (steps - 1) * steps * (2 * steps - 1) // 6
        self.add(total, running, stored, final, before)
        self.stored += running * weighted
        free, cached = before.free, before.cached
        for step, blocks in bought:
            rest = total - (step * first + rise * (step * (step - 1) // 2))  # from then to the end
            slots = blocks * block_size
            self.held += slots * rest
            self.free -= slots * rest
            free -= slots
            if free < cached:
                self.cached -= (cached - free) * rest
                cached = free
