"""Which prefixes a provider would keep for good: those that many requests begin with."""

from __future__ import annotations

import numpy as np

from kvtui.serving.intake import BlockKeys
from kvtui.traces.workload import Workload

COMMON = 0.05  # share of the requests that have to begin with a block for it to be pinned


def common_keys(workload: Workload, block_size: int) -> frozenset[int]:
    """Keys of the leading blocks that at least one request in twenty (and two of all) begins with."""
    keys = BlockKeys(workload, block_size)
    every = [key for number in range(len(workload)) for key in keys.of(number)]
    values, counts = np.unique(np.array(every, np.int64), return_counts=True)
    return frozenset(values[counts >= max(2, COMMON * len(workload))].tolist())
