"""The names of figures: each has one wherever it is told, and a short one where there is little room.

`key` is its place in a lane of the headless JSON, which never changes; the README's table of keys and
`kvtui help figures` say the same of it.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Term(NamedTuple):
    """A figure: its name, what it is in a few words, its key, and the name for narrow places."""

    name: str
    means: str
    key: str
    short: str = ""
    gloss: str = ""  # beside the name where newcomers meet it

    @property
    def brief(self) -> str:
        """The name where there is little room."""
        return self.short or self.name

    @property
    def glossed(self) -> str:
        """The name where there is much room."""
        return f"{self.name} ({self.gloss})" if self.gloss else self.name


MEAN_BATCH: Final = Term("mean batch", "requests running at once, on average over time", "batch.mean", "mean")
PEAK_BATCH: Final = Term("peak batch", "the most of them at any time", "batch.peak", "peak")
FINISHED: Final = Term("finished", "requests that got their whole answer", "requests.finished", "done")
REJECTED: Final = Term("rejected", "requests that can never fit", "requests.rejected")
UNFINISHED: Final = Term("unfinished", "requests under way when the run ended", "requests.unfinished")
PREEMPTED: Final = Term("preempted", "times that a running request was put back", "requests.preemptions")

KV_POOL: Final = Term("KV pool", "memory for keys and values, in slots of one token", "kv.pool_tokens")
STORED: Final = Term("stored", "tokens that are there", "kv.token_states_pct")
LATER: Final = Term("held for later", "the request will fill it", "kv.reserved_pct", "later")
NEVER: Final = Term("never used", "reserved, and the request ends before", "kv.internal_pct", "never")
HOLES: Final = Term("holes", "free, but too small for the next region", "kv.external_pct", "hole")
ENDS: Final = Term("block ends", "the empty part of last blocks", "kv.tail_pct", "ends")
CACHED: Final = Term("cached", "no owner, kept for who comes with the same prompt", "kv.cached_pct")
FREE: Final = Term("free", "nobody's", "kv.free_pct")

HIT_RATE: Final = Term(
    "prefix hit rate", "share of prompt tokens found in the cache", "prefix.hit_rate", "prefix hits"
)
HIT_AGAIN: Final = Term(
    "after preemption", "the same of requests that come back", "prefix.readmission_hit_rate"
)
EVICTED: Final = Term("blocks evicted", "cached blocks whose room was needed", "kv.evictions")

TTFT: Final = Term("TTFT", "arrival to the first token", "latency.ttft_s", gloss="first token")
TPOT: Final = Term("TPOT", "one token to the next", "latency.tpot_s", gloss="each next")
E2E: Final = Term("E2E", "arrival to the last token", "latency.e2e_s", gloss="whole request")
RATE: Final = Term(
    "tokens/s", "output tokens a second of all requests", "throughput.output_tokens_per_s", "tok/s"
)
SLO_KEPT: Final = Term("SLO kept", "share of requests that keep your limits", "slo.attainment", "SLO")
COST: Final = Term("$/M tok", "dollars of a million output tokens", "cost.usd_per_million_tokens", "$/M")
WAITED: Final = Term(
    "waited for memory", "share of time in which the next request did", "waiting_for_memory_pct"
)

PARTS: Final = (STORED, LATER, NEVER, HOLES, ENDS, CACHED, FREE)  # of memory: they add up to 100 %
WASTE: Final = (NEVER, HOLES, ENDS)  # what of it nobody has any use of
TERMS: Final = (
    *(MEAN_BATCH, PEAK_BATCH, FINISHED, REJECTED, UNFINISHED, PREEMPTED, KV_POOL, *PARTS),
    *(HIT_RATE, HIT_AGAIN, EVICTED, TTFT, TPOT, E2E, RATE, SLO_KEPT, COST, WAITED),
)

# of a sweep, with their keys in its JSON
GOODPUT: Final = Term("goodput", "requests a second that keep your limits", "goodput_rps", "rps")
HELD_EMPTY: Final = Term("held empty", "share of the pool: waste, and held for later", "wasted_pct", "empty")
