"""Percentiles as numpy gives them, without what it takes numpy to give them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def percentile(values: NDArray[Any], *percent: float) -> list[float]:
    """What `numpy.percentile` gives, by the same arithmetic (linear interpolation). Its first call loads all
    of numpy.ma, a good part of the time that a short run takes."""
    place = np.array(percent) / 100 * (len(values) - 1)
    below = place.astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    parted = np.partition(values, [*below, *above])
    low, step, part = parted[below], parted[above] - parted[below], place - below
    found: list[float] = np.where(part < 0.5, low + step * part, parted[above] - step * (1 - part)).tolist()
    return found
