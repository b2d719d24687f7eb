"""What one lane shows at one moment. The screen, the report and the tests read these and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, NamedTuple

from kvtui.frames.counts import Counters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Cell(IntEnum):
    """State of one block of KV memory; `Cells.stored` says how many slots of a HELD one are filled."""

    FREE = 0
    HOLE = 1  # free, but no region the next request needs fits here (contiguous only)
    CACHED = 2  # full, keyed, no owner: reusable until evicted
    HELD = 3  # belongs to running requests; unfilled slots will be filled or are a block end
    NEVER = 4  # reserved by a request that will never fill any of it (contiguous only)


class Touched(NamedTuple):
    """Which blocks can differ from another picture of the same memory."""

    since: object  # what that one has as `now`
    now: object  # unlike that of any other picture
    blocks: NDArray[np.int64]  # ascending


@dataclass(frozen=True, slots=True)
class Cells:
    """KV memory, one entry a block, in physical order; arrays are read-only."""

    state: NDArray[np.uint8]  # Cell
    owner: NDArray[np.int32]  # request number, -1 for none; of a shared block the first owner
    stored: NDArray[np.int32]  # slots filled, 0..block_size
    refs: NDArray[np.uint8]  # how many requests hold it, 255 = 255 or more
    touched: Touched | None = None  # where that is known


class EventKind(StrEnum):
    ADMITTED = "admitted"
    HIT = "cache hit"
    PREEMPTED = "preempted"
    FINISHED = "finished"
    REJECTED = "rejected"
    EVICTED = "evicted"
    CHUNK = "chunk"
    SAME_STEP_HIT = "same-step hit"
    # Told by a chronicle only, as they are too many for the log of a frame:
    ARRIVED = "arrived"
    FIRST_TOKEN = "first token"
    COPIED = "copied"
    QUEUE = "queue"
    RESTARTED = "restarted"
    # In the log of a frame again; behind the others, as the first recordings tell kinds by number only:
    SWAPPED = "swapped out"


class Event(NamedTuple):
    """Something that happened to a request. Meaning of `a` and `b` by kind:

    ADMITTED  prompt tokens to compute, blocks (or slots of a region) taken
    HIT       tokens found in the prefix cache, prompt tokens
    PREEMPTED blocks given back, number of the request that needed them
    SWAPPED   the same, and what they held went to host memory
    FINISHED  tokens generated, milliseconds since arrival
    REJECTED  blocks (slots) it would need, blocks (slots) there are
    CHUNK     tokens of a prompt computed in this step, tokens computed before; something is left
    SAME_STEP_HIT  tokens found in blocks that others fill in this very step (part of the HIT), prompt tokens
    EVICTED   cached blocks that lost what others could have met, request that took them
    ARRIVED   prompt tokens, tokens it will generate
    CHUNK     tokens computed in this step, tokens computed before
    FIRST_TOKEN tokens generated, milliseconds since arrival
    COPIED    block that is copied, block that it is copied to
    RESTARTED tokens to compute again, as the server started anew
    QUEUE     requests that wait, of which this is the first, where nobody waited before
    """

    time_s: float
    step: int
    kind: EventKind
    request: int
    a: int
    b: int


class WaitingRow(NamedTuple):
    request: int
    tokens: int  # to compute once admitted (prompt and what it had generated before a preemption)
    waited_s: float  # since arrival
    preempted: bool


class RunningRow(NamedTuple):
    request: int
    prompt: int
    generated: int
    output: int  # tokens it will have generated in the end
    computed: int  # tokens whose K/V is stored
    held: int  # slots held


@dataclass(frozen=True, slots=True)
class Frame:
    """One immutable picture of a lane.

    `batch` is the history of the batch size: (time_s, running) at every change, oldest first, thinned to a
    few hundred points. `events` are the newest events, newest first. `waiting` is in the scheduler's own
    order, `running` nearest to its end first; both are cut at the number of rows asked for.
    """

    step: int
    time_s: float
    done: bool
    counters: Counters
    cells: Cells
    waiting: Sequence[WaitingRow]
    running: Sequence[RunningRow]
    events: tuple[Event, ...]
    batch: tuple[tuple[float, int], ...]
    mean_filled: float  # slots stored per running request
    copied: tuple[int, ...] = ()  # blocks copied in this step (copy-on-write)
