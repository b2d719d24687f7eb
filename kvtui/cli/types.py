"""Numbers as options mean them."""

from __future__ import annotations

import math
from typing import Any

import click


class Positive(click.ParamType):  # type: ignore[type-arg]
    """A finite number above 0 (or from 0 on, with `zero`), up to `most`."""

    name = "number"

    def __init__(self, *, most: float = math.inf, zero: bool = False) -> None:
        self._most = most
        self._zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        least = number >= 0 if self._zero else number > 0
        if not (least and math.isfinite(number) and number <= self._most):
            top = "" if math.isinf(self._most) else f" and at most {self._most:g}"
            self.fail(f"{value} is not {'0 or more' if self._zero else 'above 0'}{top}", param, ctx)
        return number
