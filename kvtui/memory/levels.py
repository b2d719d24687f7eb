"""How memory stands at one moment."""

from __future__ import annotations

from typing import NamedTuple


class Levels(NamedTuple):
    """Slots at one moment. `held` belongs to requests, `hole` is free but of no use to the next one."""

    held: int
    twice: int  # of shared blocks: slots counted once more for every reference beyond the first
    hole: int
    cached: int
    free: int  # all of it, holes and cached included


NOTHING = Levels(0, 0, 0, 0, 0)
