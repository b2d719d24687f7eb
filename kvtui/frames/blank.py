"""The picture of a lane before there is one: empty memory, and figures that nobody knows."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from kvtui.frames.counts import Counters, LaneInfo, Percentiles, Split
from kvtui.frames.frame import Cells, Frame

_NOTHING: Final = Percentiles(None, None, None, None, 0)
_UNKNOWN: Any = (None,) * len(Split._fields)


@lru_cache(maxsize=8)
def blank(info: LaneInfo) -> Frame:
    """The very same frame each time, as frames are compared by identity."""
    counts: dict[str, Any] = dict.fromkeys(Counters._fields)
    counts |= dict.fromkeys(("split", "split_mean"), Split(*_UNKNOWN))
    counts |= dict.fromkeys(("ttft", "tpot", "e2e"), _NOTHING)
    cells = Cells(
        np.zeros(info.blocks, np.uint8),
        np.full(info.blocks, -1, np.int32),
        np.zeros(info.blocks, np.int32),
        np.zeros(info.blocks, np.uint8),
    )
    for array in (cells.state, cells.owner, cells.stored, cells.refs):
        array.flags.writeable = False
    return Frame(
        step=0,
        time_s=0.0,
        done=False,
        counters=Counters(**counts),
        cells=cells,
        waiting=(),
        running=(),
        events=(),
        batch=(),
        mean_filled=0.0,
    )
