"""How far off a prediction is expected to be: the error of its kind on measurements held out of the fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from kvtui.hardware.catalogue import ModelSpec
from kvtui.timing.coefficients import engines, residuals

QUANTITIES = ("each token", "first token")


@dataclass(frozen=True, slots=True)
class ExpectedError:
    """Median and 90th percentile of the size of the error, in per cent, and against what."""

    median_pct: float
    p90_pct: float
    n: int
    held_out: bool
    measured_on: str

    def band(self, value: float) -> tuple[float, float]:
        """The values between which the truth lies as often as not: the median error to each side."""
        share = self.median_pct / 100
        return value / (1 + share), value * (1 + share)

    @property
    def text(self) -> str:
        """As it stands beside a number."""
        return f"±{self.median_pct:.0f} % (p90 {self.p90_pct:.0f} %)"

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def expected_error(
    engine: str, model: ModelSpec, quantity: str, *, drafting: bool = False
) -> ExpectedError | None:
    """For a time "each token" or "first token"; None where nobody measured, as with drafts, or for a profile
    of one's own."""
    assert quantity in QUANTITIES
    if drafting or engine not in engines():
        return None
    kind = " (experts)" if model.moe else ""
    rows = [row for row in residuals() if row["family"] == f"{engine} {quantity}{kind}"]
    if engine == "vllm-2023" and quantity == "each token":
        rows = [row for row in residuals() if row["family"] == "vllm-2023 decode"]
    rows.sort(key=lambda row: (not row["held_out"], -row["n"]))
    if not rows:
        return None
    best = rows[0]
    return ExpectedError(
        best["median_error_pct"], best["p90_error_pct"], best["n"], best["held_out"], best["rows"]
    )
