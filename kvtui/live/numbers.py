"""A number and where it comes from."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final, NamedTuple


class Origin(StrEnum):
    REPORTED = "reported"  # the server says so
    DERIVED = "derived"  # worked out here from what it says
    SIMULATED = "simulated"  # of a lane beside it
    UNKNOWN = "unknown"


class Number(NamedTuple):
    """`value` is None exactly where `origin` is UNKNOWN."""

    value: float | None = None
    origin: Origin = Origin.UNKNOWN


UNKNOWN: Final = Number()


def reported(value: float | None) -> Number:
    return _known(value, Origin.REPORTED)


def derived(value: float | None) -> Number:
    return _known(value, Origin.DERIVED)


def simulated(value: float | None) -> Number:
    return _known(value, Origin.SIMULATED)


def _known(value: float | None, origin: Origin) -> Number:
    """Nothing that a server counts is below zero: such a figure is no figure."""
    known = value is not None and math.isfinite(value) and value >= 0
    return Number(value, origin) if known else UNKNOWN
