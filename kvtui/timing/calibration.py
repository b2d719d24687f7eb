"""Fit coefficients to measured times: robust least squares over the logarithms of predicted to measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import ExpertKernel
from kvtui.hardware.names import gpu_named, knows
from kvtui.timing.coefficients import EngineProfile, Forms
from kvtui.timing.steptime import Row, check

Coefficients = TypeVar("Coefficients", EngineProfile, Forms, ExpertKernel)
Errors = Callable[[Any], Sequence[float]]

ROUNDS = 200  # at most; most fits settle before
_STEP = 1e-3  # of a derivative, relative
_ROBUST = 0.1  # errors beyond it count by size, not by square
_NEAR_START = 0.1  # weight of staying at the start, which settles what the measurements leave open
_WIDEST = 4.0  # ln of the factor a coefficient may move by
FITTED = {
    "step": ("base_us", "layer_us", "sequence_us", "gemm_compute", "memory"),
    "serving_closed_loop": (
        "base_us",
        "layer_us",
        "sequence_us",
        "gemm_compute",
        "memory",
        "attention",
        "way_us",
    ),
}
MIN_ROWS = 4


def fit(start: Coefficients, names: Sequence[str], errors: Errors) -> Coefficients:
    """`start` with the coefficients `names` changed to make `errors` (ln of predicted over measured) small.

    Damped Gauss-Newton on the logarithms of the coefficients, numerical derivatives; deterministic.
    """
    origin = np.log([max(float(getattr(start, name)), 1e-9) for name in names])
    at, damping = origin.copy(), 1e-2

    def residuals(x: np.ndarray) -> np.ndarray:
        values = dict(zip(names, np.exp(x).tolist(), strict=True))
        return np.concatenate([np.array(errors(start._replace(**values))), _NEAR_START * (x - origin)])

    here = residuals(at)
    for _ in range(ROUNDS):
        weight = 1 / np.sqrt(1 + (here / _ROBUST) ** 2)
        slope = np.stack([(residuals(at + _STEP * e) - here) / _STEP for e in np.eye(len(names))], axis=1)
        square = slope.T @ (weight[:, None] * slope)
        step = np.linalg.solve(square + damping * np.diag(np.diag(square) + 1e-9), -slope.T @ (weight * here))
        new = np.clip(at + step, origin - _WIDEST, origin + _WIDEST)
        there = residuals(new)
        if _loss(there) < _loss(here):
            settled = _loss(here) - _loss(there) < 1e-7 * _loss(here)
            at, here, damping = new, there, max(damping / 5, 1e-9)
            if settled:
                break
        elif damping > 1e6:
            break
        else:
            damping *= 5
    return start._replace(**{name: float(f"{v:.4g}") for name, v in zip(names, np.exp(at), strict=True)})


def calibrate(rows: Sequence[Row], start: EngineProfile) -> EngineProfile:
    """A profile of the user's own from the whole steps and benchmarks in `rows`.

    Raises ConfigError where there are too few.
    """
    whole = [row for row in rows if row.text("scope") in FITTED]
    first = check(whole, profile=start)
    if len(first.compared) < MIN_ROWS:
        reasons = "; ".join(f"{n} rows: {why}" for why, n in first.left_out.items())
        raise ConfigError(
            f"{len(first.compared)} usable rows are too few to fit to, {MIN_ROWS} are needed",
            hint=_remedy(whole) or reasons or "rows of scope step or serving_closed_loop count",
        )
    scopes = {one.row.text("scope") for one in first.compared}
    names = FITTED["serving_closed_loop" if "serving_closed_loop" in scopes else "step"]
    return fit(start, names, lambda profile: log_errors([one.row for one in first.compared], profile=profile))


def _remedy(rows: Sequence[Row]) -> str:
    """What helps where GPUs are not in the catalogue."""
    unknown = sorted({name for row in rows if not knows(name := row.text("gpu"))})
    return (
        f"the catalogue has no {', '.join(unknown)}: --gpu ID says whose peaks to start from"
        if unknown
        else ""
    )


def on_known(rows: Sequence[Row], gpu: str) -> list[Row]:
    """The rows, with `gpu` for every GPU that is not in the catalogue: a fit starts from its peaks.

    Raises ConfigError where `gpu` is not there either.
    """
    named = gpu_named(gpu).id
    return [row if knows(row.text("gpu")) else replace(row, cells=row.cells | {"gpu": named}) for row in rows]


def log_errors(rows: Sequence[Row], **how: Any) -> list[float]:
    """ln of predicted over measured."""
    return [float(np.log1p(one.error)) for one in check(rows, **how).compared]


def _loss(residuals: np.ndarray) -> float:
    return float(np.sum(np.sqrt(1 + (residuals / _ROBUST) ** 2) - 1))


def as_data(coefficients: EngineProfile | Forms) -> dict[str, float]:
    """By name, as the data file has them."""
    return coefficients._asdict()
