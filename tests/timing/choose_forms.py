"""Chooses what the fits of this folder start from and how kernels of experts are put together.

    python -m tests.timing.choose_forms STEP_TIMES.csv aiconfigurator_core-*.whl    # pyarrow, 10 min

Only measurements that are fitted to are looked at: benchmarks of servers with other models stay unseen.

* Kernels of experts: each shape of experts is left out of the fit in turn and predicted from the others. All
  in turn is best, with 8.8 % in the median and 45 % p90 over 26,620 rows; 10.1 % and 48 % in part.
* Profiles of engines: fitted to the rows of one engine's model, asked about those of the other two.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from statistics import mean, median

import numpy as np

from kvtui.hardware.catalogue import ExpertKernel
from kvtui.timing.calibration import fit, log_errors
from kvtui.timing.coefficients import forms
from kvtui.timing.steptime import read
from tests.timing.fit_expert_kernels import START, TABLES, Row, kinds, terms
from tests.timing.fit_step_times import SERVED, served
from tests.timing.fit_step_times import START as FROM

# Fixed time, reading, arithmetic, all of one kernel.
Form = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
FORMS: dict[str, Form] = {
    "all in turn": lambda fixed, read, compute: fixed + read + compute,
    "the longer hides the shorter in part": lambda fixed, read, compute: (
        fixed + np.maximum(read, compute) + forms().overlap * np.minimum(read, compute)
    ),
    "the longer hides the shorter": lambda fixed, read, compute: fixed + np.maximum(read, compute),
    "the longest hides all": lambda fixed, read, compute: np.maximum(fixed, np.maximum(read, compute)),
    "nothing fixed": lambda fixed, read, compute: read + compute + 0 * fixed,
}
STARTS = ((100, 58), (300, 55), (750, 50), (1500, 40), (2500, 28), (3500, 15), (4500, 3))  # us: step, layer


def shape(row: Row) -> tuple[int, ...]:
    return tuple(row[key] for key in ("num_experts", "topk", "hidden_size", "inter_size"))


def left_out(rows: Sequence[Row], card: str, dtype: str, form: Form) -> Iterator[float]:
    """Errors of the rows of each shape, predicted from those of the others."""
    once = np.array([terms(row, card, dtype, ExpertKernel(0.0, 1.0, 1.0)) for row in rows])
    measured = np.array([row["latency"] / 1000 for row in rows])
    shapes = [shape(row) for row in rows]
    for one in set(shapes):
        out = np.array([other == one for other in shapes])

        def errors(kernel: ExpertKernel, where: np.ndarray) -> np.ndarray:
            fixed = np.full(int(where.sum()), kernel.floor_us * 1e-6)
            _, read, compute = once[where].T
            return np.log(form(fixed, read / kernel.mbu, compute / kernel.mfu) / measured[where])

        if not out.all():
            found = fit(START, ("floor_us", "mbu", "mfu"), lambda k, out=out: errors(k, ~out).tolist())
            yield from np.abs(np.expm1(errors(found, out))).tolist()


def expert_forms(wheel: str) -> None:
    with zipfile.ZipFile(wheel) as file:
        tables = [(card, *kind) for table, card in TABLES.values() for kind in kinds(file, table)]
    for name, form in FORMS.items():
        errors = [e for card, dtype, rows in tables for e in left_out(rows, card, dtype, form)]
        print(f"{name:40}n {len(errors)} median {median(errors):.1%} p90 {np.quantile(errors, 0.9):.1%}")


def starts(table: str) -> None:
    rows = served(read(table)[0])
    by_engine = [[r for r in rows if r.text("engine").startswith(n)] for n in ("vllm", "trtllm", "sglang")]
    for base, layer in STARTS:
        start, medians = FROM._replace(base_us=base, layer_us=layer), []
        for seen, asked in permutations(by_engine, 2):
            found = fit(start, SERVED, lambda p, seen=seen: log_errors(seen, profile=p))
            tokens = [row for row in asked if row.text("phase") == "e2e_tpot"]
            medians.append(median(map(abs, log_errors(tokens, profile=found))))
        print(
            f"{base:5} us a step, {layer:2} us a layer: mean of the medians {mean(medians):.2%}", flush=True
        )


def main(table: str, wheel: str) -> int:
    expert_forms(wheel)
    starts(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
