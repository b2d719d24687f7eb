"""How memory stands at one moment, and what was taken of it since."""

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


class Bought:
    """Blocks taken out of the free queue, step by step.

    As a rule those without content go first. A manager for which that does not hold says in `cached` how
    many of each step's blocks carried content.
    """

    __slots__ = ("blocks", "cached")

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.cached: list[int] = []
