"""All that can be said about how a trace is to be read and replayed."""

from typing import TypedDict


class Wanted(TypedDict, total=False):
    """Keyword arguments of `kvtui.traces.load`; None, False or nothing leaves the trace as it is.

    At most `limit` requests are read behind the first `skip` usable ones, in the order of the file; with a
    directory, a window, a sample or shuffling the two count what is left of these.
    """

    limit: int | None
    skip: int
    block_size: int | None  # tokens a block id stands for, where the trace does not say so
    keep_failed: bool  # requests without prompt or output too, which are else left out and counted
    keep_cached: bool  # answers out of a gateway's own cache too
    run: int | None  # the run to read, of a file with several
    time_unit: str | None  # s, ms, us or ns: what bare times count, where the format leaves room for doubt
    delta: bool  # prompts of later turns lack their history: add it
    tokenizer: str | None  # path of a tokenizer.json that counts the tokens of text; else an estimate
    rate: float | None  # requests a second, in place of recorded arrivals
    burstiness: float | None  # shape of the gamma distribution of their gaps; without it, evenly spaced
    start_s: float | None  # seconds into the trace
    duration_s: float | None  # seconds from there
    max_gap_s: float | None  # seconds to which longer gaps are cut
    sample: float | None  # share of the requests, drawn at random
    scale_rate: float | None  # how many times faster requests arrive
    shuffle_seed: int | None  # requests trade places, arrivals stay
    turns: str | None  # "recorded" times, or "closed": sent when the turn before has ended
    think_s: float | None  # seconds between an answer and the next turn, in closed loops
    clients: int | None  # so many hold a conversation each and then the next, whatever the arrivals
    seed: int  # of gaps and sampling
