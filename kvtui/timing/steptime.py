"""Predicted against measured step times, for any table in the format of the published ones.

Columns: gpu, model, tp, phase, scope, op, batch_size, context_len, chunk_tokens, output_len, measured_ms,
dtype, kv_dtype, engine, and those of `campaigns`. Scopes: step (a whole step of a model),
serving_closed_loop (mean latency under a constant number of requests), layer_linear and kernel (one layer),
allreduce. A row that says too little, or names a model or GPU that is not in the catalogue, is left out with
the reason.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtui.errors import KvtuiError, TraceError
from kvtui.hardware.catalogue import WEIGHT_BITS, GpuSpec, ModelSpec
from kvtui.hardware.names import gpu_named, model_named
from kvtui.hardware.sizing import pool
from kvtui.timing.benchmark import Load, closed_loop
from kvtui.timing.campaigns import batching, shortest_length
from kvtui.timing.coefficients import DEFAULT_ENGINE, EngineProfile, Forms, engines, forms
from kvtui.timing.kernels import allreduce, decode_attention, one_layer, prompt_attention, prompt_pair
from kvtui.timing.roofline import RooflineCost
from kvtui.units import seconds

NEEDED = ("gpu", "measured_ms")
_EIGHT_BIT = ("fp8", "int8")
_FAMILY = {"mxfp4": "fp4"}  # a checkpoint's type, and how tables call it too
LEAST_S, MOST_S = 1e-9, 1e9  # a time beyond these is no measurement, and errors against it no numbers
_SPARED = 0.9  # gpu_memory_utilization of the benchmarks


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement; `line` is where it stands in the file."""

    line: int
    cells: dict[str, str]
    measured: float  # s

    def text(self, key: str) -> str:
        """A cell, "" where the column is missing."""
        return self.cells.get(key, "")

    def count(self, key: str, default: int | None = None) -> int:
        """A cell as a whole number of at least 0; raises LeftOut where it is none and there is no default."""
        text = self.text(key)
        if not text and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not (0 <= value < 1e12) or value != int(value):
            raise LeftOut(f"no usable {key}")
        return int(value)


class LeftOut(Exception):
    """A row that cannot be predicted, and why."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A row with its prediction."""

    row: Row
    family: str
    predicted: float  # s

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted / self.row.measured - 1


@dataclass(frozen=True, slots=True)
class Check:
    """A table compared; `left_out` counts reasons."""

    compared: tuple[Compared, ...]
    left_out: dict[str, int]

    def families(self) -> dict[str, dict[str, Any]]:
        """Errors by family, in per cent."""
        names = sorted({one.family for one in self.compared})
        return {name: spread([c.error for c in self.compared if c.family == name]) for name in names}


def spread(errors: Sequence[float]) -> dict[str, Any]:
    """Median and 90th percentile of the size of the errors, and the signed median, in per cent."""
    sizes = sorted(abs(error) for error in errors)
    return {
        "n": len(sizes),
        "median_error_pct": round(100 * quantile(sizes, 0.5), 2),
        "p90_error_pct": round(100 * quantile(sizes, 0.9), 2),
        "bias_pct": round(100 * quantile(sorted(errors), 0.5), 2),
    }


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of values in order, interpolated between neighbours."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def read(path: str) -> tuple[list[Row], dict[str, int]]:
    """Rows of a CSV table with a usable time, and why others were left out. Raises TraceError."""
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise TraceError(f"cannot be read: {why}", path=path) from None
    try:
        return _rows(text, path)
    except csv.Error as error:
        raise TraceError(f"no table: {error}", path=path, hint="a quote that is never closed?") from None


def _rows(text: str, path: str) -> tuple[list[Row], dict[str, int]]:
    lines = csv.DictReader(text.splitlines())
    columns = [name.strip() for name in lines.fieldnames or ()]
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise TraceError(
            f"no column {' or '.join(missing)}",
            path=path,
            line=1,
            hint="columns: gpu, model, tp, phase, scope, batch_size, context_len, measured_ms",
        )
    rows, left_out = [], Counter[str]()
    for raw in lines:
        cells = {key.strip(): (raw[key] or "").strip() for key in raw if isinstance(raw[key], str) and key}
        try:
            measured = float(cells.get("measured_ms", "")) / 1000
        except ValueError:
            measured = 0.0
        if LEAST_S <= measured <= MOST_S:
            rows.append(Row(lines.line_num, cells, measured))
        else:
            left_out["no usable measured_ms"] += 1
    return rows, dict(left_out)


def check(
    rows: Iterable[Row],
    *,
    profiles: dict[str, EngineProfile] | None = None,
    profile: EngineProfile | None = None,
    constants: Forms | None = None,
) -> Check:
    """All rows predicted: each with the profile of its engine, or all with the one `profile`."""
    predictor = Predictor(profiles or engines(), profile, constants or forms())
    compared, left_out = [], Counter[str]()
    for row in rows:
        try:
            family, predicted = predictor.of(row)
            compared.append(Compared(row, family, predicted))
        except LeftOut as reason:
            left_out[str(reason)] += 1
        except KvtuiError as error:
            left_out[error.message] += 1
    return Check(tuple(compared), dict(left_out))


class Predictor:
    """Predicts rows; a benchmark that two rows describe (first token, each token) is simulated once."""

    def __init__(self, profiles: dict[str, EngineProfile], profile: EngineProfile | None, k: Forms) -> None:
        self._profiles = profiles
        self._profile = profile
        self._k = k
        self._loops: dict[tuple[Any, ...], Any] = {}

    def of(self, row: Row) -> tuple[str, float]:
        """The family of a row and its predicted time in seconds. Raises LeftOut."""
        gpu = gpu_named(row.text("gpu"))
        tp = row.count("tp", 1)
        if not 1 <= tp <= 64:
            raise LeftOut("no usable tp")
        scope = row.text("scope") or ("step" if row.text("phase") in ("prefill", "decode") else "")
        if scope == "allreduce":
            return "all-reduce", self._allreduce(row, gpu, tp)
        model = _model(row)
        if scope == "layer_linear":
            return "linear layers", self._layer(row, model, gpu, tp)
        if scope == "kernel":
            return "attention kernels", self._kernel(row, model, gpu, tp)
        name = self._engine(row.text("engine"))
        if scope == "step":
            return f"{name} {_phase(row)}", self._step(row, model, gpu, tp, name)
        if scope == "serving_closed_loop":
            return self._served(row, model, gpu, tp, name)
        raise LeftOut(f'unknown scope "{scope}"')

    def _engine(self, text: str) -> str:
        """The engine by which families are told apart. One that is not known has no profile of its own, and
        needs none where all rows are predicted by the same."""
        try:
            return engine_of(text)
        except LeftOut:
            if self._profile is None:
                raise
            return text.partition(" ")[0]

    def _allreduce(self, row: Row, gpu: GpuSpec, tp: int) -> float:
        found = re.search(r"([\d,]+) bytes", row.text("op"))
        if tp < 2 or not found:
            raise LeftOut("an all-reduce needs tp of 2 and more, and its bytes in op")
        return allreduce(gpu, self._k, tp=tp).seconds(int(found[1].replace(",", "")))

    def _layer(self, row: Row, model: ModelSpec, gpu: GpuSpec, tp: int) -> float:
        if model.moe or any(group.kind in ("mla", "linear") for group in model.kv_groups):
            raise LeftOut("linear layers of experts and latent attention are not modelled alone")
        tokens = row.count("chunk_tokens", row.count("batch_size", 0) or None)
        return one_layer(model, gpu, self._k, tp=tp).seconds(tokens, self._k.overlap)

    def _kernel(self, row: Row, model: ModelSpec, gpu: GpuSpec, tp: int) -> float:
        group = model.kv_groups[0]
        if group.kind != "full":
            raise LeftOut("only the kernel of full attention is modelled alone")
        batch, context = row.count("batch_size"), row.count("context_len")
        kv_bytes = _kv_bytes(row)
        if _phase(row) == "decode":
            kv = batch * context * kv_bytes * group._replace(layers=1).kv_elements(tp)
            return decode_attention(gpu, self._k, kv=kv, kv_bytes=kv_bytes)
        tokens = row.count("chunk_tokens", batch * context)
        pair = prompt_pair(model, gpu, self._k, tp=tp, kv_bytes=kv_bytes)
        return prompt_attention(pair, gpu, self._k, tokens=tokens, pairs=_pairs(tokens, batch, context))

    def _step(self, row: Row, model: ModelSpec, gpu: GpuSpec, tp: int, name: str) -> float:
        cost = self._cost(model, gpu, tp, name, _kv_bytes(row))
        batch, context = row.count("batch_size", 1), row.count("context_len")
        if _phase(row) == "decode":
            return seconds(cost.step(batch, batch * context, 0, 0))
        tokens = row.count("chunk_tokens", batch * context)
        prompts = cost.step(0, 0, tokens, _pairs(tokens, batch, context))
        return seconds(prompts + batch * self._sequence(name))

    def _served(self, row: Row, model: ModelSpec, gpu: GpuSpec, tp: int, name: str) -> tuple[str, float]:
        phase = row.text("phase")
        if phase not in ("e2e_tpot", "e2e_ttft"):
            raise LeftOut(f'unknown phase "{phase}"')
        clients, prompt, output = (row.count(k) for k in ("batch_size", "context_len", "output_len"))
        if not (1 <= clients <= 20_000 and prompt >= 1 and output >= 2):
            raise LeftOut("a benchmark needs requests, prompt tokens and two output tokens and more")
        load = Load(clients, prompt, output, shortest_length(row))
        steps = batching(row, _software(name), gpu)
        kv_bytes = _kv_bytes(row)
        key = (model.id, model.checkpoint_dtype, gpu.id, tp, name, load, steps, kv_bytes)
        if key not in self._loops:
            kv_dtype = "fp8" if kv_bytes == 1 else "auto"
            self._loops[key] = closed_loop(
                self._cost(model, gpu, tp, name, kv_bytes),
                load,
                steps,
                way=round(self._engine_profile(name).way_us * 1e6),
                pool_tokens=pool(model, gpu, tp=tp, kv_dtype=kv_dtype, utilization=_SPARED).tokens,
            )
        latency = self._loops[key]
        kind = " (experts)" if model.moe else ""
        if phase == "e2e_ttft":
            return f"{name} first token{kind}", latency.ttft
        return f"{name} each token{kind}", latency.tpot

    def _cost(self, model: ModelSpec, gpu: GpuSpec, tp: int, name: str, kv_bytes: int) -> RooflineCost:
        return RooflineCost.of(
            model,
            gpu,
            tp=tp,
            kv_dtype_bytes=kv_bytes,
            engine=self._engine_profile(name),
            software=_software(name),
            constants=self._k,
        )

    def _sequence(self, name: str) -> int:
        return round(self._engine_profile(name).sequence_us * 1e6)

    def _engine_profile(self, name: str) -> EngineProfile:
        return self._profile or self._profiles[name]


def _software(name: str) -> str:
    """The server of a profile."""
    return name.partition("-")[0]


def engine_of(text: str) -> str:
    """The profile that fits an engine as a table names it."""
    lower = text.lower()
    if "trt" in lower or "tensorrt" in lower:
        return "trtllm"
    if "sglang" in lower:
        return "sglang"
    if "2023" in lower or re.search(r"vllm v?0\.[0-4]\.", lower) or ("eager" in lower and "vllm" in lower):
        return "vllm-2023"
    if "vllm" in lower or not lower:
        return DEFAULT_ENGINE
    raise LeftOut(f'unknown engine "{text}"')


def _model(row: Row) -> ModelSpec:
    model = model_named(row.text("model"))
    dtype = row.text("dtype").lower()
    if not dtype or dtype in (model.checkpoint_dtype, _FAMILY.get(model.checkpoint_dtype)):
        return model
    if dtype not in WEIGHT_BITS:
        raise LeftOut(f'unknown dtype "{dtype}"')
    bits = {WEIGHT_BITS[dtype], WEIGHT_BITS.get(model.checkpoint_dtype, 4)}
    return model._replace(
        checkpoint_dtype=dtype, checkpoint_bytes=model.checkpoint_bytes if len(bits) == 1 else None
    )


def _kv_bytes(row: Row) -> int:
    """As the row says; TensorRT-LLM keeps KV in 8 bits where the weights are, others only if told to."""
    kv = row.text("kv_dtype").lower()
    if kv in ("", "unknown") and "trt" in row.text("engine").lower():
        kv = row.text("dtype").lower()
    return 1 if kv in _EIGHT_BIT else 2


def _phase(row: Row) -> str:
    phase = row.text("phase").lower()
    if phase not in ("prefill", "decode"):
        raise LeftOut(f'unknown phase "{phase}"')
    return phase


def _pairs(tokens: int, batch: int, context: int) -> int:
    """(query, key) pairs of `batch` prompts that are `context` long when their last tokens are computed."""
    each = tokens // max(batch, 1)
    before = max(context - each, 0)
    return batch * (each * before + each * (each + 1) // 2)
