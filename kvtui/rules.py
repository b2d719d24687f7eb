"""What a scheduler is told: the options of vLLM V1 that change decisions, and what releases differ in."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.errors import ConfigError
from kvtui.speculation import Speculation


@dataclass(frozen=True, slots=True)
class Release:
    """The switches that turn one vLLM release's decisions into another's."""

    name: str
    lifo: bool  # freed blocks without content go to the front of the free queue
    reserve_full: bool  # admission can check the whole known length
    watermark: bool  # the watermark option exists
    count_at_admission: bool  # prefix counters move when a request is admitted, not at every look-up
    lone_prefill: bool  # a lone request is not capped; adaptive cap and max_num_active_seqs exist


RELEASES = {
    r.name: r
    for r in (
        Release("0.12", False, False, False, False, False),
        Release("0.16", False, False, False, False, False),
        Release("0.20", False, True, False, False, False),
        Release("0.24", True, True, True, False, False),
        Release("0.28", True, True, True, True, False),
        Release("0.32", True, True, True, True, True),
    )
}
NEWEST = "0.32"


def release(name: str) -> Release:
    """The switches of a vLLM release by its minor version, e.g. "0.32"."""
    try:
        return RELEASES[name]
    except KeyError:
        raise ConfigError(f"no rules for vLLM {name!r}", hint=f"one of {', '.join(RELEASES)}") from None


@dataclass(frozen=True, slots=True)
class Rules:
    """Scheduler options under vLLM's own names; tokens and requests."""

    max_model_len: int
    max_num_batched_tokens: int = 2048
    max_num_scheduled_tokens: int | None = None
    max_num_seqs: int = 256
    max_num_active_seqs: int | None = None
    enable_chunked_prefill: bool = True
    long_prefill_token_threshold: int = 0
    long_prefill_token_threshold_adaptive: bool = False
    policy: str = "fcfs"
    watermark: float = 0.0  # share of the blocks, the null block counted in
    scheduler_reserve_full_isl: bool = True
    async_scheduling: bool = False  # a step is scheduled before the result of the last one is seen
    spec_method: str | None = None  # who drafts, see `Speculation`
    num_speculative_tokens: int = 3
    acceptance: tuple[float, ...] = (0.7,)  # see `AcceptanceRate`
    release: Release = RELEASES[NEWEST]

    def __post_init__(self) -> None:
        for name in ("max_model_len", "max_num_batched_tokens", "max_num_seqs"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if self.policy not in ("fcfs", "priority"):
            raise ConfigError(f"no policy {self.policy!r}", hint="fcfs or priority")
        if self.speculation.method is not None and self.release.name != NEWEST:
            raise ConfigError(
                f"speculative decoding by the rules of vLLM {self.release.name} is not known",
                hint=f"use those of {NEWEST}",
            )
        if not self.acceptance or not all(0 <= rate <= 1 for rate in self.acceptance):
            raise ConfigError(f"acceptance {self.acceptance} is not a share of the drafts from 0 to 1")
        if not 0 <= self.watermark < 1:
            raise ConfigError(f"watermark {self.watermark} is not a share of the pool from 0 to below 1")

    @property
    def token_budget(self) -> int:
        """Tokens a step may compute."""
        if self.max_num_scheduled_tokens is None:
            return self.max_num_batched_tokens
        return min(self.max_num_scheduled_tokens, self.max_num_batched_tokens)

    @property
    def running_limit(self) -> int:
        """Requests that may run at once."""
        if self.release.lone_prefill and self.max_num_active_seqs is not None:
            return self.max_num_active_seqs
        return self.max_num_seqs

    @property
    def explicit(self) -> bool:
        """Whether what a request has computed is not just one token more a step."""
        return self.async_scheduling or self.spec_method is not None

    @property
    def speculation(self) -> Speculation:
        """The drafter; without one, one of no tokens."""
        return Speculation(self.spec_method, self.num_speculative_tokens if self.spec_method else 0)

    @property
    def reserve_full(self) -> bool:
        """Whether an admission needs room for all known tokens."""
        return self.scheduler_reserve_full_isl and self.release.reserve_full

    def prefill_cap(self, in_system: int) -> int | None:
        """Tokens that one request may get in a step that begins with `in_system` requests; None = no cap."""
        cap = self.long_prefill_token_threshold
        if not cap or (self.release.lone_prefill and in_system <= 1):
            return None
        if self.long_prefill_token_threshold_adaptive and self.release.lone_prefill:
            cap = max(cap, self.max_num_batched_tokens // in_system)
        return cap

    def watermark_blocks(self, blocks: int) -> int:
        """Blocks kept free at admission in a pool of `blocks` usable ones."""
        return int(self.watermark * (blocks + 1)) if self.release.watermark else 0
