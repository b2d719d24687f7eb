"""What a scheduler is told: the options of vLLM V1 that change decisions, and what releases differ in."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kvtui.errors import ConfigError
from kvtui.serving.speculation import Speculation


class Release(NamedTuple):
    """The switches that turn one vLLM release's decisions into another's."""

    name: str
    scheduled_budget: bool = False  # max_num_scheduled_tokens exists: the budget in place of the batch's
    reserve_full: bool = False  # admission can check the whole known length
    lifo: bool = False  # freed blocks without content go to the front of the free queue
    watermark: bool = False  # the watermark option exists
    batch_budget: bool = False  # max_num_batched_tokens is a limit too, whatever the budget
    count_at_admission: bool = False  # prefix counters move at an admission, not at every look-up
    lone_prefill: bool = False  # a lone request is not capped; adaptive cap and max_num_active_seqs exist
    go_on: bool = False  # who cannot go on for reasons of its own does not hold up those behind it
    new_once: bool = False  # a state that was kept in an earlier step does not count as one of this step
    hash_ahead: bool = False  # keys cover what a drafter read behind a block; answers are cached at once


def _releases() -> dict[str, Release]:
    """Each release is the one before it with some switches turned."""
    turned = {
        "0.12": (),
        "0.16": (),
        "0.20": ("scheduled_budget", "reserve_full"),
        "0.24": ("lifo", "watermark"),
        "0.28": ("batch_budget", "count_at_admission"),
        "0.32": ("lone_prefill",),
        "0.33": ("go_on", "new_once", "hash_ahead"),
    }
    last, releases = Release(name=""), {}
    for name, switches in turned.items():
        last = releases[name] = last._replace(name=name, **dict.fromkeys(switches, True))
    return releases


RELEASES = _releases()
NEWEST = "0.33"
DRAFTING = ("0.32", "0.33")  # releases whose rules of speculative decoding are known


def release(name: str) -> Release:
    """The switches of a vLLM release by its minor version, e.g. "0.33"."""
    try:
        return RELEASES[name]
    except KeyError:
        raise ConfigError(f"no rules for vLLM {name!r}", hint=f"one of {', '.join(RELEASES)}") from None


@dataclass(frozen=True)
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
        if self.speculation.method is not None and self.release.name not in DRAFTING:
            raise ConfigError(
                f"speculative decoding by the rules of vLLM {self.release.name} is not known",
                hint=f"use those of {' or '.join(DRAFTING)}",
            )
        if not self.acceptance or not all(0 <= rate <= 1 for rate in self.acceptance):
            raise ConfigError(f"acceptance {self.acceptance} is not a share of the drafts from 0 to 1")
        if not 0 <= self.watermark < 1:
            raise ConfigError(f"watermark {self.watermark} is not a share of the pool from 0 to below 1")

    @cached_property
    def token_budget(self) -> int:
        """Tokens a step may compute."""
        batch, budget = self.max_num_batched_tokens, self.max_num_scheduled_tokens
        if budget is None or not self.release.scheduled_budget:
            return batch
        return min(budget, batch) if self.release.batch_budget else budget

    @cached_property
    def batch_tokens(self) -> int:
        """Tokens a step may bring to the model, the drafter's included."""
        return self.max_num_batched_tokens if self.release.batch_budget else self.token_budget

    @cached_property
    def running_limit(self) -> int:
        """Requests that may run at once."""
        if self.release.lone_prefill and self.max_num_active_seqs is not None:
            return self.max_num_active_seqs
        return self.max_num_seqs

    @cached_property
    def explicit(self) -> bool:
        """Whether what a request has computed is not just one token more a step."""
        return self.async_scheduling or self.spec_method is not None

    @cached_property
    def speculation(self) -> Speculation:
        """The drafter; without one, one of no tokens."""
        drafts = self.num_speculative_tokens if self.spec_method else 0
        return Speculation(self.spec_method, drafts, hash_ahead=self.release.hash_ahead)

    @cached_property
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


def capped(tokens: int, cap: int | None) -> int:
    """At most `cap`, where there is one."""
    return tokens if cap is None else min(tokens, cap)
