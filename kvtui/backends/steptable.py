"""Measured attention as a table of step times, to calibrate the simulator with `kvtui steptime --fit`.

One row a shape of step, in the columns of the tables that the step-time model is fitted on: decode-only and
prompt-only steps, time of the attention core of one layer, median over the steps of that shape. Where all
layers and the matrix products of the model are carried out, there is a row for the whole step as well.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from kvtui import __version__
from kvtui.backends.batch import Batch
from kvtui.errors import ConfigError, FileIsThere
from kvtui.hardware.names import knows
from kvtui.serving.plan import Plan

COLUMNS = (
    "gpu",
    "model",
    "tp",
    "phase",
    "scope",
    "op",
    "batch_size",
    "context_len",
    "chunk_tokens",
    "output_len",
    "measured_ms",
    "dtype",
    "kv_dtype",
    "engine",
    "source",
    "licence",
    "notes",
)
SIXTEENTHS = 16  # contexts are told apart to so many parts of a power of two


class Form(NamedTuple):
    """What steps of one row have in common."""

    phase: str  # decode or prefill
    requests: int
    context: int  # mean over the requests, rounded
    tokens: int
    kv_dtype: str
    scope: str = "kernel"  # or step: all of it


class StepTable:
    """Collects the steps of all lanes on one device; `facts` are the columns that all rows have alike."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        if self.path.exists():
            raise FileIsThere(path)
        self.facts: dict[str, Any] = {}
        self.layers = 1
        self.all_layers = 1  # of the model
        self.whole = False  # whether steps are those of a whole model
        self._times: dict[Form, list[float]] = {}

    def add(self, kv_dtype: str, plan: Plan, batch: Batch, parts: dict[str, float]) -> None:
        """Take note of a step, if it was one of decodes or of prompts alone."""
        if form := _form(batch, kv_dtype):
            self._times.setdefault(form, []).append(parts["attention"] / self.layers)
            if self.whole:
                self._times.setdefault(form._replace(scope="step"), []).append(sum(parts.values()))

    @property
    def notes(self) -> tuple[str, ...]:
        """What a fit to the table will ask for, known before anything is measured."""
        notes = []
        if not self.whole:
            whole = f"--gemm --kv-layers {self.all_layers}"
            notes.append(f"--steptimes has attention alone: kvtui steptime --fit needs whole steps, {whole}")
        if not knows(gpu := str(self.facts["gpu"])):
            notes.append(
                f"the catalogue has no {gpu}: kvtui steptime --fit will ask for --gpu ID to start from"
            )
        return tuple(notes)

    def report(self) -> dict[str, Any]:
        """What is written, and what has to be known about it."""
        return {"file": str(self.path), "whole_steps": self.whole, "notes": list(self.notes)}

    def write(self) -> int:
        """Write the file; gives the number of rows. Raises ConfigError where it cannot be written."""
        rows = list(self._rows())
        try:
            with self.path.open("x", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be written: {error.strerror or error}", hint="check the path"
            ) from None
        return len(rows)

    def _rows(self) -> Iterator[dict[str, Any]]:
        attention = self.facts.pop("attention")
        for form, times in sorted(self._times.items()):
            yield self.facts | {
                "phase": form.phase,
                "scope": form.scope,
                "op": attention if form.scope == "kernel" else "full_model",
                "batch_size": form.requests,
                "context_len": form.context,
                "chunk_tokens": form.tokens,
                "output_len": "",
                "kv_dtype": form.kv_dtype,
                "measured_ms": round(median(times) * 1000, 5),
                "source": f"kvtui {__version__} --steptimes",
                "licence": "",
                "notes": f"median of {len(times)} steps",
            }


def _form(batch: Batch, kv_dtype: str) -> Form | None:
    requests, tokens = len(batch.counts), int(batch.counts.sum())
    context = _rounded(int(batch.contexts.mean()))
    if tokens == requests:
        return Form("decode", requests, context, tokens, kv_dtype)
    prompts = bool((batch.counts > 1).all())
    return Form("prefill", requests, context, _rounded(tokens), kv_dtype) if prompts else None


def _rounded(n: int) -> int:
    unit = max((1 << n.bit_length()) // (2 * SIXTEENTHS), 1)
    return max(n // unit * unit, 1)
