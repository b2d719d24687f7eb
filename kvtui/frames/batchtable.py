"""The running requests of a lane as a table."""

from __future__ import annotations

import numpy as np

from kvtui.frames.rows import Numbers
from kvtui.serving.queues import Queues
from kvtui.serving.request import Request

COLUMNS = 6  # those of a RunningRow
_ORDER = 2  # numbers that rank: tokens left, admission


def running_table(queues: Queues, block_size: int) -> Numbers:
    """All that run, nearest to its end first. Sequences of one request are one row."""
    step = queues.step
    rows = []
    for r in queues.running.values():
        if not r.sequence:
            stored, prompt = r.stored(step), r.prompt
            generated = r.generated if r.chunking else stored + 1 - prompt
            left = prompt + r.output - stored
            rows.append((left, r.order, r.number, prompt, generated, r.output, stored, held(r, block_size)))
    rows.sort()
    return np.array(rows, np.int64).reshape(-1, _ORDER + COLUMNS)[:, _ORDER:]


def held(request: Request, block_size: int) -> int:
    """Slots of its region or of its blocks."""
    return request.reserved or request.blocks_held * block_size
