"""Layers that keep one state of fixed size in place of K and V: Mamba, gated delta nets and their like.

A state takes a block. With prefix caching (`mamba_cache_mode` "align") the state behind a chunk of a prompt
stands in the block where the chunk ends: tables are as long as those of attention, null but for the last
states, and chunks of prompts end where blocks end, so that a later request can go on from there. Without it
a request has one block.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvtui.memory.group import Group
from kvtui.memory.layernames import STATES
from kvtui.serving.request import Request
from kvtui.serving.rules import Rules


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Where states are kept for others to go on from."""

    size: int  # tokens a block
    within: bool  # whether a step can save a state that it passes
    further: bool  # whether hits are proven one block further than they count
    ahead: int  # last tokens of a prompt that no hit reaches
    chunk: int  # tokens of a chunk of a prompt at most
    new_once: bool  # as vLLM does from 0.33 on, see `Release`
    fresh: set[int] = field(default_factory=set)  # keys of the states that this step makes: none is there yet

    @classmethod
    def under(cls, rules: Rules, size: int, *, within: bool) -> Checkpoints:
        """By the options of a scheduler."""
        cap = rules.long_prefill_token_threshold
        drafter = rules.speculation
        return cls(
            size,
            within,
            drafter.hidden_states,
            max(1, drafter.keyed_ahead),
            min(rules.token_budget, cap) if cap else rules.token_budget,
            rules.release.new_once,
        )

    def last(self, tokens: int) -> int:
        """The last end of a block from which a request with so many tokens can go on."""
        if self.further:
            return max(tokens // self.size - 1, 0) * self.size
        return max(tokens - self.ahead, 0) // self.size * self.size

    def passed(self, start: int, end: int, at: int) -> bool:
        """Whether a step over the tokens [start, end) saves the state behind token `at`."""
        place = -(-end // self.size) - 2
        fits = place > (start - 1) // self.size and start + self.size <= at < end
        return self.within and start % self.size == 0 and fits

    def on_the_way(
        self, table: list[int], start: int, end: int, whole: int, *, spare: int
    ) -> tuple[int, int] | None:
        """The state that a step over [start, end) saves besides its last one: (tokens, place in the table).
        That is done at the end of the `whole` prompt; the last `spare` blocks of a table hold none yet."""
        at, place = self.last(end), -(-end // self.size) - 2
        if end < whole or place < 0 or not self.passed(start, end, at):
            return None
        taken = place < len(table) - spare and table[place]
        return None if taken else (at, place)

    def chunk_of(self, request: Request, start: int, tokens: int) -> int:
        """Of the `tokens` tokens from `start` on that a request may have in a step, those it gets: a chunk of
        a prompt ends where its state is kept. 0 = too few to get there."""
        whole = max(request.prompt, request.known - 1)
        if start >= whole:
            return tokens
        end = start + tokens
        within = end >= whole and self.passed(start, end, self.last(whole))
        if end < whole:
            aligned = end // self.size * self.size
            if aligned > start or self.size <= self.chunk:
                end = aligned
        stops = [] if within else [self.last(request.known)]
        if start % self.size and not within:
            stops.append((start // self.size + 1) * self.size)
        if start < request.boundary < end:
            stops.append(start + (request.boundary - start) // self.size * self.size)
        return max(min([at for at in stops if start < at < end], default=end) - start, 0)


@dataclass(frozen=True, slots=True)
class _Stateful(Group):
    """Layers that keep a state in place of K and V. `scratch` further blocks hold the states behind drafts;
    with `within` a step can save a state that it passes."""

    scratch: int = 0
    within: bool = False

    @property
    def name(self) -> str:
        return STATES[self.within]

    @property
    def full(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class StateGroup(_Stateful):
    """The state stands in the block of its last token."""

    @property
    def proof(self) -> int:
        return 1

    @property
    def shift(self) -> int:
        return 0

    def skipped(self, computed: int) -> int:
        return max(0, computed - 1) // self.size

    def missing(
        self, tokens: int, slots: int, computed: int, held: int, *, first: bool, passes: bool = False
    ) -> int:
        need = self.blocks_for(tokens) + self.scratch - held
        return min(need, 1 + passes + (self.scratch if first else 0))

    def opened(self, table: list[int], tokens: int, slots: int, *, first: bool, passes: bool = False) -> int:
        at = self.blocks_for(tokens) - 1 - passes
        length = len(table)
        if at + passes + 1 + self.scratch <= length and not passes:
            return 0
        table += [0] * (at - length)
        if not first:
            for place in range(length - self.scratch, min(length, at)):
                table.append(table[place])
                table[place] = 0
        return max(at + passes + 1 + self.scratch - len(table), 0)

    def at_once(self, tokens: int, *, ahead: int = 0) -> int:
        return min(self.blocks_for(tokens), 2 + self.within) + self.scratch

    def gone(self, table: list[int], computed: int) -> list[int]:
        last = min(self.skipped(computed), len(table))
        return [at for at in range(last - 1, -1, -1) if table[at]]

    def filled(self, table: list[int], tokens: int) -> int:
        return sum(map(bool, table)) * self.size

    def partial(self, table: list[int], tokens: int) -> Iterable[tuple[int, int]]:
        return ()


@dataclass(frozen=True, slots=True)
class WholeStateGroup(_Stateful):
    """One state a request, in a block for all its tokens."""

    def blocks_for(self, tokens: int) -> int:
        return 1 + self.scratch

    def filled(self, table: list[int], tokens: int) -> int:
        return len(table) * self.size

    def partial(self, table: list[int], tokens: int) -> Iterable[tuple[int, int]]:
        return ()
