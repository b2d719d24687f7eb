"""How far off a prediction is expected to be: the error of its kind on measurements held out of the fit.

Two kinds have been measured by others: the time to the first token and that of each further one. What follows
from them (`INHERITED`) has no error of its own, and of the rest nobody knows any.
"""

from typing import Any, NamedTuple

from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.timing.coefficients import engines, residuals

QUANTITIES = ("each token", "first token")
INHERITED = (
    "no error of their own: that of each token where requests wait for the server; else the trace decides"
)


class ExpectedError(NamedTuple):
    """Median and 90th percentile of the size of the error, in per cent, and against what."""

    median_pct: float
    p90_pct: float
    n: int
    held_out: bool
    measured_on: str
    gpus: tuple[str, ...]  # by their ids
    this_gpu: bool  # whether the predicted one is among them

    def band(self, value: float) -> tuple[float, float]:
        """See `band`."""
        return band(value, self.median_pct)

    @property
    def text(self) -> str:
        """As it stands beside a number."""
        return f"±{self.median_pct:.0f} % (p90 {self.p90_pct:.0f} %)"

    def report(self) -> dict[str, Any]:
        """As JSON."""
        return {**self._asdict(), "gpus": list(self.gpus)}


def band(value: float, median_pct: float) -> tuple[float, float]:
    """The values between which the truth lies as often as not: the median error to each side."""
    share = median_pct / 100
    return value / (1 + share), value * (1 + share)


def expected_error(
    engine: str, model: ModelSpec, quantity: str, *, gpu: GpuSpec, drafting: bool = False
) -> ExpectedError | None:
    """For a time "each token" or "first token"; None where nobody measured, as with drafts, or for a profile
    of one's own. Errors are of all GPUs that were measured together: whether `gpu` was is said beside."""
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
        best["median_error_pct"],
        best["p90_error_pct"],
        best["n"],
        best["held_out"],
        _place(best, gpu),
        tuple(best["gpus"]),
        gpu.id in best["gpus"],
    )


def _place(row: dict[str, Any], gpu: GpuSpec) -> str:
    """What was measured, by name: an error on other GPUs says less about this one."""
    where = f"{row['rows']}: {', '.join(row['gpus'])}"
    return where if gpu.id in row["gpus"] else f"{where}; none on {gpu.id}"
