"""The numbers of a lane, at one moment or at the end: all that a run without a screen is asked for."""

from dataclasses import dataclass
from typing import NamedTuple


class Percentiles(NamedTuple):
    """Seconds over the `n` requests that have the figure; all None when n is 0."""

    mean: float | None
    p50: float | None
    p90: float | None
    p99: float | None
    n: int


class Split(NamedTuple):
    """Where KV memory is, in per cent of the pool; adds up to 100."""

    stored: float  # token states
    reserved: float  # held for tokens that this request will still generate
    internal: float  # reserved and never used
    external: float  # free, but the next request fits nowhere (a hole)
    tail: float  # unfilled ends of last blocks
    cached: float  # full, no owner, reusable
    free: float


class Counters(NamedTuple):
    """Numbers of a lane. Means and shares marked *mean* are weighted by the time the engine was stepping."""

    running: int
    waiting: int  # in the queue, preempted ones included
    preempted_waiting: int  # of these, how many were preempted
    finished: int
    rejected: int
    unfinished: int  # of the whole workload: not ended yet, arrived or not
    preemptions: int
    evictions: int
    batch_peak: int
    batch_mean: float
    output_tokens: int  # generated so far
    output_tokens_per_s: float  # over the virtual time so far
    requests_per_s: float
    query_tokens: int  # prefix cache, first admissions only
    hit_tokens: int
    readmit_query_tokens: int  # prefix cache, after preemption
    readmit_hit_tokens: int
    split: Split  # now
    split_mean: Split
    ttft: Percentiles
    tpot: Percentiles
    e2e: Percentiles
    saved: float = 0.0  # per cent of the blocks in tables that sharing saves now: 1 - physical / logical
    saved_mean: float = 0.0
    copies: int = 0  # blocks copied before a write (copy-on-write)
    swapped_out: int = 0  # blocks copied to host memory
    swapped_in: int = 0
    chunks: int = 0  # parts of prompts after which something was left to compute
    same_step_hit_tokens: int = 0  # of the hits, those in blocks computed in the same step
    draft_tokens: int = 0  # speculative decoding: verified, and of these the right ones
    accepted_draft_tokens: int = 0
    reusable_evictions: int = 0  # of the evicted blocks, those with content that others could have met
    good: int | None = None  # of the finished requests, those that kept every limit that was set
    late: int = 0  # requests under way that have broken one already


@dataclass(frozen=True, slots=True)
class LaneInfo:
    """What never changes about a lane; the screen titles and sizes its panels with it."""

    name: str  # "contiguous", "paged"; unique in a run
    manager: str  # "contiguous" or "paged"
    title: str  # "Contiguous", "Paged"
    subtitle: str  # "reserves 2,048 each", "16-token blocks"
    blocks: int
    block_size: int  # tokens
    region_blocks: int | None  # blocks of a full reservation, None where nothing is reserved
    pool_tokens: int
    pool_bytes: int | None
    label: str  # "simulated", "measured", "live"
    since_s: float = 0.0  # when it branched off; before that there is no such lane
