"""A group of layers that share block tables, and how much of its tables a request needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

Kind = tuple[type, int | None, int]  # of layers, window, tokens a block


@dataclass(frozen=True, slots=True)
class Group:
    """Layers with one block table."""

    window: int | None  # tokens that a layer looks back; None = all of them
    size: int  # tokens a block
    layers: tuple[int, ...]
    drafter: bool = False  # its layers are known to include the drafter's
    further: bool = False  # its hits are proven one block further than they count
    extra: int = 0  # tokens kept in front of the window
    most: int | None = None  # blocks a request can need at once, as far as admission knows

    @property
    def kind(self) -> Kind:
        """Groups of one kind find the same hits."""
        return type(self), self.window, self.size

    @property
    def name(self) -> str:
        """What its layers are called, see `groups_of`."""
        return "full" if self.window is None else "sliding"

    @property
    def full(self) -> bool:
        """Whether every token is read for ever: hits need all blocks from the start on."""
        return self.window is None

    @property
    def proof(self) -> int:
        """Blocks in a row that make a hit of a window."""
        assert self.window is not None
        return -(-(self.window - 1) // self.size) + self.further

    @property
    def shift(self) -> int:
        """Blocks behind the end of a hit that prove it."""
        return int(self.further)

    def blocks_for(self, tokens: int) -> int:
        """Blocks that `tokens` tokens fill."""
        return -(-tokens // self.size)

    def skipped(self, computed: int) -> int:
        """Leading blocks that nobody reads any more when so many tokens are computed."""
        if self.window is None:
            return 0
        return max(0, computed - self.window + 1 - self.extra) // self.size

    def missing(
        self, tokens: int, slots: int, computed: int, held: int, *, first: bool, passes: bool = False
    ) -> int:
        """Blocks to be taken beyond `held` table entries so that there are `slots` slots; `tokens` of them
        are not a drafter's. `first`: the request is being admitted; `passes`: a state is saved on the way."""
        return max(self.blocks_for(slots) - max(self.skipped(computed), held), 0)

    def opened(self, table: list[int], tokens: int, slots: int, *, first: bool, passes: bool = False) -> int:
        """Make a table ready for so many slots; returns how many blocks are to be put at its end."""
        return max(self.blocks_for(slots) - len(table), 0)

    def gone(self, table: list[int], computed: int) -> list[int]:
        """Places of the blocks that nobody reads when so many tokens are computed, last one first."""
        last = min(self.skipped(computed), len(table))
        return list(takewhile(table.__getitem__, range(last - 1, -1, -1)))

    def at_once(self, tokens: int, *, ahead: int = 0) -> int:
        """Blocks that a request of so many tokens holds at most, with slots for `ahead` drafts among them."""
        if self.most is None:
            return self.blocks_for(tokens)
        return min(self.blocks_for(tokens), self.most + self.blocks_for(ahead))

    def filled(self, table: list[int], tokens: int) -> int:
        """Tokens of the first `tokens` that the blocks of a table hold."""
        return max(tokens - nulls(table) * self.size, 0)

    def partial(self, table: list[int], tokens: int) -> Iterable[tuple[int, int]]:
        """Places of the blocks that `tokens` tokens do not fill, with the tokens in each."""
        return ((at, max(tokens - at * self.size, 0)) for at in range(tokens // self.size, len(table)))


def nulls(table: list[int]) -> int:
    """Leading blocks that are gone."""
    low, high = 0, len(table)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if table[middle] else (middle + 1, high)
    return low
