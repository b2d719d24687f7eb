"""Fits the time model to published measurements and writes kvtui/data/steptime.json.

    python -m tests.timing.fit_step_times STEP_TIMES.csv [MORE.csv ...] -o kvtui/data/steptime.json

The first table is fitted to, the others are only compared with. Splits, never by row:

* kernels, linear layers, all-reduce: each GPU is left out in turn and predicted with constants fitted to the
  others. The shipped constants are fitted to all of them.
* vllm-2023: fitted to the A100, the H100 left out.
* vllm, trtllm, sglang: fitted to the table's closed-loop rows of one model and GPU; what is held out are the
  other GPUs and models of the further tables (`published_step_times.py` makes one of public sources).

With --errors coefficients stay as they are and only the errors are worked out anew.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kvtui.hardware.names import gpu_named
from kvtui.timing import coefficients
from kvtui.timing.calibration import as_data, fit, log_errors
from kvtui.timing.coefficients import EngineProfile, Forms
from kvtui.timing.steptime import Check, Compared, Row, check, read

FORMS = {
    "layer_linear": ("overlap", "gemm_memory", "gemm_compute", "layer_floor_us"),
    "prefill": ("prefill_floor", "tile_tokens", "prefill_compute", "prefill_fp8_kv"),
    "decode": ("decode_floor", "decode_memory", "decode_fp8_kv", "l2_gain"),
    "allreduce": ("allreduce_small", "allreduce_large", "allreduce_large_us"),
}
ABOUT = (
    "Written by tests/timing/fit_step_times.py, which says what was fitted to what and held out. "
    "Measurements: "
    "splitwise-sim (MIT), vidur (MIT), aiconfigurator-core 0.12.0 (Apache-2.0)."
)
# The rows of an engine are of one model, whose layers and steps cannot be told apart: how they share the
# fixed time stays about as it is here. Chosen by choose_forms.py on the fitted rows: a profile fitted to
# one engine's model (80, 64, 32 layers) is 12.8 % off at the other two from here (mean of the six medians),
# 12.9 % from 1500 and 40, 14.2 % from 4500 and 3.
START = EngineProfile(100.0, 58.0, 30.0, 1.0, 1.0, 1.0, 0.5, 10_000.0)
EAGER_START = EngineProfile(5000.0, 140.0, 200.0, 0.4, 1.0, 1.0)
EAGER = ("base_us", "layer_us", "sequence_us", "gemm_compute")
SERVED = ("base_us", "layer_us", "sequence_us", "gemm_compute", "memory", "attention", "touch", "way_us")


def parts(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Rows by the formula that predicts them."""
    found: dict[str, list[Row]] = {name: [] for name in FORMS}
    for row in rows:
        scope = row.text("scope")
        part = row.text("phase") if scope == "kernel" else scope
        if part in found:
            found[part].append(row)
    return found


def fit_forms(start: Forms, by_part: dict[str, list[Row]]) -> Forms:
    """Each formula to its own rows."""
    for part, rows in by_part.items():
        if rows:
            start = fit(start, FORMS[part], lambda k, rows=rows: log_errors(rows, constants=k))
    return start


def left_out_gpus(rows: Sequence[Row], start: Forms) -> list[Compared]:
    """Each GPU predicted from the others."""
    compared: list[Compared] = []
    for card in sorted({row.text("gpu") for row in rows}):
        own = [row for row in rows if row.text("gpu") == card]
        others = parts(row for row in rows if row.text("gpu") != card)
        needed = {part: others[part] for part, there in parts(own).items() if there}
        compared += check(own, constants=fit_forms(start, needed)).compared
    return compared


def by_family(compared: Iterable[Compared], *, held_out: bool, rows: str) -> list[dict[str, Any]]:
    compared = tuple(compared)
    cards: dict[str, set[str]] = {}
    for one in compared:
        cards.setdefault(one.family, set()).add(gpu_named(one.row.text("gpu")).id)
    return [
        {"family": name, **row, "held_out": held_out, "rows": rows, "gpus": sorted(cards[name])}
        for name, row in Check(compared, {}).families().items()
    ]


def fit_profiles(table: Sequence[Row], constants: Forms) -> dict[str, EngineProfile]:
    """Each engine to its rows: eager vLLM to whole steps on one GPU, the others to benchmarks."""
    steps = [row for row in table if row.text("scope") == "step"]
    first = [row for row in steps if row.text("gpu") == fitted_gpu(steps)]
    profiles = {
        "vllm-2023": fit(EAGER_START, EAGER, lambda p: log_errors(first, profile=p, constants=constants))
    }
    for name in ("vllm", "trtllm", "sglang"):
        rows = [r for r in served(table) if r.text("engine").startswith(name)]
        profiles[name] = fit(
            START, SERVED, lambda p, rows=rows: log_errors(rows, profile=p, constants=constants)
        )
    return profiles


def fitted_gpu(steps: Sequence[Row]) -> str:
    return min(row.text("gpu") for row in steps)


def served(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.text("scope") == "serving_closed_loop"]


def unseen(rows: Sequence[Row], fitted: Sequence[Row]) -> list[Row]:
    """Rows of models, GPUs and engines that were not fitted to together."""

    def kind(row: Row) -> tuple[str, ...]:
        return (*(row.text(key) for key in ("scope", "gpu", "model")), row.text("engine").split()[0])

    seen = {kind(row) for row in fitted}
    return [row for row in rows if kind(row) not in seen]


def small(table: Sequence[Row]) -> list[Row]:
    """Measurements of parts of a step."""
    return [row for row in table if row.text("scope") in ("kernel", "layer_linear", "allreduce")]


def fit_all(table: Sequence[Row], more: Sequence[Sequence[Row]], *, errors_only: bool) -> dict[str, Any]:
    """What data/steptime.json holds."""
    start = constants = coefficients.forms()
    profiles = coefficients.engines()
    if not errors_only:
        constants = fit_forms(start, parts(small(table)))
        profiles = fit_profiles(table, constants)
    residuals = by_family(left_out_gpus(small(table), start), held_out=True, rows="each GPU, from the others")
    residuals += errors_of(table, more, {"profiles": profiles, "constants": constants})
    return {
        "about": ABOUT,
        "forms": as_data(constants),
        "engines": {name: as_data(profile) for name, profile in profiles.items()},
        "residuals": residuals,
    }


def errors_of(
    table: Sequence[Row], more: Sequence[Sequence[Row]], how: dict[str, Any]
) -> list[dict[str, Any]]:
    """Of whole steps and of benchmarks, fitted and held out."""
    residuals: list[dict[str, Any]] = []
    steps = [row for row in table if row.text("scope") == "step"]
    for card in sorted({row.text("gpu") for row in steps}):
        compared = check([row for row in steps if row.text("gpu") == card], **how).compared
        residuals += by_family(compared, held_out=card != fitted_gpu(steps), rows=card)
    compared = check(served(table), **how).compared
    residuals += by_family(compared, held_out=False, rows="one model and GPU")
    for rows in more:
        compared = check(unseen(rows, table), **how).compared
        residuals += by_family(compared, held_out=True, rows="other models and GPUs")
    return residuals


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("tables", nargs="+")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--errors", action="store_true")
    options = parser.parse_args(arguments)
    table, *more = [read(path)[0] for path in options.tables]
    data = fit_all(table, more, errors_only=options.errors)
    Path(options.output).write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
