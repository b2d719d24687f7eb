"""Speculative decoding: what a drafter asks of scheduler and memory, and how many drafts turn out right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from kvtui.errors import ConfigError
from kvtui.mixing import BITS, mixed
from kvtui.serving.request import Request

# Drafters that read the target's hidden states: the token before a draft has to be computed anew.
HIDDEN_STATES = ("eagle", "eagle3", "mtp", "mtp_modules", "dflash")
METHODS = ("ngram", "draft_model", "pard", *HIDDEN_STATES)


@dataclass(frozen=True, slots=True)
class Speculation:
    """A drafter of `tokens` drafts a step. Methods are vLLM's; "pard" is a draft model that drafts in
    parallel, "mtp" one module used again and again, "mtp_modules" as many modules as drafts."""

    method: str | None = None
    tokens: int = 0
    hash_ahead: bool = False  # as vLLM does from 0.33 on, see `Release`

    def __post_init__(self) -> None:
        if self.method is not None and self.method not in METHODS:
            raise ConfigError(f"no drafter {self.method!r}", hint=f"one of {', '.join(METHODS)}")
        if self.method is not None and self.tokens < 1:
            raise ConfigError(f"{self.tokens} speculative tokens are no drafts", hint="give at least 1")

    @property
    def lookahead(self) -> int:
        """Slots behind those of a step that a request holds for its drafter."""
        if self.method in (None, "ngram"):
            return 0
        return self.tokens + (self.method == "dflash")

    @property
    def draft_slots(self) -> int:
        """Tokens of the batch that every scheduled request leaves to the drafter."""
        if self.method == "draft_model":
            return 1
        if self.method == "dflash" and self.hash_ahead:
            return 0
        return self.tokens if self.method in ("pard", "dflash") else 0

    @property
    def reads_ahead(self) -> int:
        """Prompt tokens beyond a position that the drafter reads to compute it."""
        if self.method == "mtp_modules":
            return self.tokens
        return int(self.method in HIDDEN_STATES)

    @property
    def refill(self) -> int:
        """Last tokens of a prefix that a drafter with several modules has to compute again."""
        return max(0, self.reads_ahead - 1)

    @property
    def hidden_states(self) -> bool:
        """Whether a hit has to be proven one block further than it counts."""
        return self.method in HIDDEN_STATES and not self.hash_ahead

    @property
    def keyed_ahead(self) -> int:
        """Tokens behind a block that its key covers too: its drafter has read them."""
        return self.reads_ahead if self.hash_ahead and self.method != "dflash" else 0


class DraftModel(Protocol):
    """Says how drafting goes; a function of the request and of how often it was asked about it."""

    def drafted(self, request: Request, most: int) -> int:
        """Drafts, at most `most`, that follow the `request.yields`-th step that yielded tokens."""
        ...

    def accepted(self, request: Request, drafts: int) -> int:
        """How many of `drafts` the `request.verifies`-th verifying step finds right (from 0)."""
        ...


class AcceptanceRate:
    """Every draft is right with a given probability, as long as those before it are.

    `rates` are by position, the last one for all further positions. The outcome is a fixed function of the
    request's number, its verifying step and the position: whatever the schedule, the same drafts are right.
    """

    def __init__(self, rates: tuple[float, ...]) -> None:
        assert rates
        self._limits = [round(rate * (1 << BITS)) for rate in rates]

    def drafted(self, request: Request, most: int) -> int:
        return most

    def accepted(self, request: Request, drafts: int) -> int:
        right = 0
        while right < drafts and self._draw(request, right) < self._limits[min(right, len(self._limits) - 1)]:
            right += 1
        return right

    def _draw(self, request: Request, position: int) -> int:
        """64 bits that depend on nothing else."""
        return mixed(mixed(mixed(request.number) + request.verifies) + position)


@dataclass(slots=True)
class SpecCounters:
    """Counters of speculative decoding as vLLM keeps them."""

    num_drafts: int = 0  # verifications: requests x steps
    num_draft_tokens: int = 0
    num_accepted_tokens: int = 0

    def count(self, drafts: int, accepted: int) -> None:
        """One request was verified in one step."""
        self.num_drafts += 1
        self.num_draft_tokens += drafts
        self.num_accepted_tokens += accepted
