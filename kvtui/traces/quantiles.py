"""Lengths by their quantiles."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np

from kvtui.errors import ConfigError
from kvtui.traces.options import MOST_TOKENS


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Lengths by their quantiles: (share of requests that are no longer, tokens), ascending in both.

    Between two of them the logarithm of the length grows evenly; below the first and above the last all
    lengths are theirs.
    """

    points: tuple[tuple[float, float], ...]

    @classmethod
    def parse(cls, text: str) -> Quantiles:
        """ "512" is one length; "p50=800,p90=3000,p99=8000" are quantiles. Raises ConfigError."""
        try:
            points = tuple(_point(part) for part in text.split(","))
        except ValueError:
            raise _unclear(text) from None
        shares, tokens = zip(*points, strict=True)
        ascending = list(shares) == sorted(set(shares)) and list(tokens) == sorted(tokens)
        if (
            not ascending
            or not 1 <= tokens[0] <= tokens[-1] <= MOST_TOKENS
            or not 0 <= shares[0] <= shares[-1] <= 1
        ):
            raise _unclear(text)
        return cls(points)

    def at(self, share: float) -> int:
        """The length that this share of requests does not exceed."""
        shares = [point[0] for point in self.points]
        logs = [log(point[1]) for point in self.points]
        return max(1, round(exp(float(np.interp(share, shares, logs)))))


def _point(text: str) -> tuple[float, float]:
    name, equals, tokens = text.strip().rpartition("=")
    if not equals:
        return 0.5, float(tokens)
    if not name.startswith("p"):
        raise ValueError(name)
    return float(name[1:]) / 100, float(tokens)


def _unclear(text: str) -> ConfigError:
    hint = "give one length, as 512, or growing quantiles, as p50=800,p90=3000,p99=8000"
    return ConfigError(f"'{text}' says nothing about lengths.", hint=hint)
