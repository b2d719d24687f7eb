"""Predicted against measured: the gates, the tables of others, and a fit to one's own."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError, TraceError
from kvtui.hardware.names import gpu_named, model_named
from kvtui.timing.calibration import calibrate, fit, log_errors, on_known
from kvtui.timing.coefficients import calibration_text, engine, engines, residuals, software
from kvtui.timing.steptime import Check, Row, check, quantile, read
from tests.cli.run import complaint, kvtui
from tests.shared import SHARED
from tests.timing.fit_step_times import by_family, errors_of, left_out_gpus, small, unseen
from tests.timing.published_step_times import benchmarks

STEP_TIMES = SHARED / "reference" / "step_times.csv"
HEAD = "gpu,model,tp,phase,scope,op,batch_size,context_len,chunk_tokens,output_len,measured_ms,dtype,engine"
needs_table = pytest.mark.skipif(not STEP_TIMES.exists(), reason="needs the reference data")


def row(**cells: str) -> Row:
    return Row(2, cells, 0.01)


def written(tmp_path: Path, *lines: str) -> str:
    path = tmp_path / "table.csv"
    path.write_text("\n".join((HEAD, *lines)) + "\n")
    return str(path)


@needs_table
def test_every_row_of_the_published_table_has_a_prediction() -> None:
    result = check(read(str(STEP_TIMES))[0])
    assert (len(result.compared), result.left_out) == (245, {})


@needs_table
@pytest.mark.parametrize(
    ("family", "gpu_text", "median_pct", "p90_pct"),
    [
        ("vllm-2023 decode", "H100", 15, 30),  # fitted to the A100 alone
        ("vllm-2023 prefill", "H100", 15, 30),
        ("vllm each token", "H100", 10, 15),
        ("trtllm each token", "H100", 10, 15),
        ("sglang each token", "H200", 10, 15),
        ("linear layers", "", 10, 20),
        ("attention kernels", "", 20, 40),
        ("all-reduce", "", 20, 40),
    ],
)
def test_gates(family: str, gpu_text: str, median_pct: float, p90_pct: float) -> None:
    rows = [r for r in read(str(STEP_TIMES))[0] if gpu_text in r.text("gpu")]
    found = check(rows).families()[family]
    assert found["median_error_pct"] <= median_pct
    assert found["p90_error_pct"] <= p90_pct


def test_held_out_errors_that_are_shown_hold_the_gates() -> None:
    """Splits by GPU and model, written down by the fitting script."""
    held_out = {(r["family"], r["rows"]): r for r in residuals() if r["held_out"]}
    for name, rows in (("vllm", 273), ("trtllm", 393), ("sglang", 84)):
        shown = held_out[f"{name} each token", "other models and GPUs"]
        assert shown["median_error_pct"] <= 15
        assert shown["p90_error_pct"] <= 30
        assert shown["n"] == rows
    assert held_out["vllm first token", "other models and GPUs"]["median_error_pct"] <= 15
    mixtures = held_out["vllm each token (experts)", "other models and GPUs"]
    assert mixtures["median_error_pct"] <= 15
    assert mixtures["p90_error_pct"] <= 30
    assert mixtures["n"] == 630
    for family in ("linear layers", "attention kernels", "all-reduce"):
        assert held_out[family, "each GPU, from the others"]["median_error_pct"] <= 20


def same(again: list[dict[str, Any]], *, held_out: bool) -> None:
    """Worked out anew they are what is shown: n to the row, errors to what rounding of coefficients makes."""
    shown = {(r["family"], r["rows"]): r for r in residuals()}
    for row in again:
        known = shown[row["family"], row["rows"]]
        assert (known["n"], known["held_out"], known["gpus"]) == (row["n"], held_out, row["gpus"])
        for key in ("median_error_pct", "p90_error_pct", "bias_pct"):
            assert known[key] == pytest.approx(row[key], abs=0.1), (row["family"], key)


@needs_table
def test_errors_that_are_shown_of_published_rows_are_theirs() -> None:
    """Times of first tokens among them, and whole steps on the GPU that was held out."""
    table = read(str(STEP_TIMES))[0]
    again = errors_of(table, [], {})
    assert {r["family"] for r in again} >= {f"{name} first token" for name in ("vllm", "trtllm", "sglang")}
    for held_out in (True, False):
        same([r for r in again if r["held_out"] is held_out], held_out=held_out)


@needs_table
def test_errors_of_parts_of_a_step_are_those_of_gpus_left_out_of_the_fit() -> None:
    from kvtui.timing.coefficients import forms

    compared = left_out_gpus(small(read(str(STEP_TIMES))[0]), forms())
    again = by_family(compared, held_out=True, rows="each GPU, from the others")
    assert [row["n"] for row in again] == [25, 52, 40]
    same(again, held_out=True)


def test_first_tokens_are_said_to_be_as_far_off_as_they_are() -> None:
    """With the package in whose tables the benchmarks are; without it nothing is recomputed."""
    package = pytest.importorskip("aiconfigurator_core", reason="its benchmarks are the measurements")
    text = (Path(package.__file__).parent / "systems" / "silicon_sample.csv").read_text("utf-8")
    rows = [
        Row(at, {key: str(value) for key, value in cells.items()}, float(cells["measured_ms"]) / 1000)
        for at, cells in enumerate(benchmarks(text))
        if cells["engine"].startswith("vllm") and cells["measured_ms"]
    ]
    fitted = read(str(STEP_TIMES))[0]
    compared = check(unseen(rows, fitted)).compared
    same(by_family(compared, held_out=True, rows="other models and GPUs"), held_out=True)


@needs_table
def test_the_kernel_constants_are_what_the_script_fits() -> None:
    from kvtui.timing.coefficients import forms
    from tests.timing.fit_step_times import fit_forms, parts

    small = parts(r for r in read(str(STEP_TIMES))[0] if r.text("scope") in ("layer_linear", "allreduce"))
    again = fit_forms(forms(), small)
    for name in ("gemm_memory", "gemm_compute", "layer_floor_us", "allreduce_large"):
        assert getattr(again, name) == pytest.approx(getattr(forms(), name), rel=0.1)


def test_what_cannot_be_predicted_is_left_out_with_the_reason(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "H100-80GB-SXM,Llama-2-70B,4,decode,step,full_model,1,192,1,,28.4,fp16,vLLM 2023",
        "Quantum-1,Llama-2-70B,4,decode,step,full_model,1,192,1,,28.4,fp16,vLLM 2023",
        "H100-80GB-SXM,Nobody-9B,4,decode,step,full_model,1,192,1,,28.4,fp16,vLLM 2023",
        "H100-80GB-SXM,Llama-2-70B,4,decode,step,full_model,1,192,1,,,fp16,vLLM 2023",
        "H100-80GB-SXM,Llama-2-70B,4,decode,step,full_model,x,192,1,,28.4,fp16,vLLM 2023",
        "H100-80GB-SXM,Llama-2-70B,4,decode,step,full_model,1,192,1,,28.4,fp7,vLLM 2023",
        "H100-80GB-SXM,Llama-2-70B,4,decode,step,full_model,1,192,1,,28.4,fp16,other",
        "H100-80GB-SXM,Llama-3.1-70B,1,e2e_tpot,serving_closed_loop,mean,4,128,,128,28.4,bf16,vllm",
        "H100-80GB-SXM,(any),2,any,allreduce,nothing,,,,,0.1,bf16,vllm",
        "H100-80GB-SXM",
    )
    rows, unreadable = read(path)
    result = check(rows)
    assert len(result.compared) == 1
    assert unreadable == {"no usable measured_ms": 2}
    reasons = " ".join(result.left_out)
    for word in ("Quantum-1", "Nobody-9B", "batch_size", "fp7", '"other"', "does not fit", "all-reduce"):
        assert word in reasons


def test_a_table_without_times_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("gpu,model\nA,b\n")
    with pytest.raises(TraceError, match="measured_ms"):
        read(str(path))
    with pytest.raises(TraceError, match="cannot be read"):
        read(str(tmp_path / "none.csv"))


cells = st.sampled_from(
    (
        *(
            "",
            "0",
            "1",
            "8",
            "-3",
            "1e30",
            "nan",
            "x",
            "H200-141GB-SXM",
            "Llama-2-7b-hf",
            "any",
            "fp8",
            "vllm",
        ),
        *(
            "kernel",
            "step",
            "layer_linear",
            "serving_closed_loop",
            "allreduce",
            "e2e_tpot",
            "decode",
            "4 bytes",
        ),
    )
)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(cells, min_size=13, max_size=13), min_size=1, max_size=3))
def test_no_table_ends_in_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[str]]
) -> None:
    path = tmp_path_factory.mktemp("t") / "table.csv"
    out = io.StringIO()
    csv.writer(out).writerows([HEAD.split(","), *lines])
    path.write_text(out.getvalue())
    rows, unreadable = read(str(path))
    result = check(rows)
    assert len(result.compared) + sum(result.left_out.values()) + sum(unreadable.values()) == len(lines)


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("meta-llama/Llama-3.1-70B", "llama-3.1-70b"),
        ("Llama-2-7b-hf", "llama-2-7b"),
        ("Meta-Llama-3-8B", "llama-3.1-8b"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "mistral-7b"),
        ("google/gemma-2-9b-it", "gemma-2-9b"),
        ("openai/gpt-oss-120b", "gpt-oss-120b"),
    ],
)
def test_model_names(name: str, id: str) -> None:
    assert model_named(name).id == id


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("A100-80GB-SXM", "a100-80"),
        ("A100-40GB-SXM", "a100-40"),
        ("H100-80GB-SXM", "h100-sxm"),
        ("h200_sxm", "h200"),
        ("NVIDIA L40S", "l40s"),
        ("B200-192GB-SXM", "b200"),
        ("A40-48GB", "a40"),
    ],
)
def test_gpu_names(name: str, id: str) -> None:
    assert gpu_named(name).id == id
    with pytest.raises(ConfigError, match="several"):
        gpu_named("H100")


def test_quantiles() -> None:
    assert [quantile([1, 2, 3, 4], share) for share in (0, 0.5, 1)] == [1, 2.5, 4]
    assert Check((), {}).families() == {}


def test_a_fit_finds_the_coefficients_that_made_the_times() -> None:
    true = engines()["vllm"]._replace(base_us=4000.0, sequence_us=90.0)
    cells = {"gpu": "H100-80GB-SXM", "model": "Llama-3-8B", "phase": "decode", "scope": "step"}
    rows = [row(**cells, batch_size=str(n), context_len=str(c)) for n in (1, 8, 32, 128) for c in (100, 4000)]
    predicted = [c.predicted for c in check(rows, profile=true).compared]
    rows = [replace(r, measured=t) for r, t in zip(rows, predicted, strict=True)]
    found = calibrate(rows, engines()["vllm"])
    assert max(map(abs, log_errors(rows, profile=found))) < 0.02
    assert found.sequence_us == pytest.approx(90, rel=0.1)
    with pytest.raises(ConfigError, match="too few"):
        calibrate(rows[:3], engines()["vllm"])


def test_a_fit_on_an_unknown_gpu_starts_from_one_that_is_named() -> None:
    cells = {"model": "Llama-3-8B", "phase": "decode", "scope": "step", "context_len": "100"}
    rows = [
        row(**cells, gpu=gpu, batch_size=str(n)) for gpu in ("CPU", "H100-80GB-SXM") for n in (1, 8, 32, 128)
    ]
    with pytest.raises(ConfigError) as raised:
        calibrate(rows[:4], engines()["vllm"])
    assert raised.value.hint == "the catalogue has no CPU: --gpu ID says whose peaks to start from"
    assert [each.text("gpu") for each in on_known(rows, "A10G")] == ["a10g"] * 4 + ["H100-80GB-SXM"] * 4
    calibrate(on_known(rows[:4], "a10g"), engines()["vllm"])
    with pytest.raises(ConfigError):
        on_known(rows, "Quantum-1")


def test_a_fit_without_rows_stays_where_it_is() -> None:
    start = engines()["vllm"]
    assert fit(start, ["base_us"], lambda _: []).base_us == pytest.approx(start.base_us, rel=1e-3)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("name", engines()["vllm"]._fields)
def test_a_calibration_that_nothing_can_be_divided_by_is_refused(
    tmp_path: Path, name: str, value: float
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(calibration_text(engines()["vllm"]._replace(**{name: value}), {}))
    with pytest.raises(ConfigError, match=rf"mine\.json: {name} is "):
        engine(str(path))


def test_a_calibration_file_is_an_engine(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(calibration_text(engines()["trtllm"], {"table": "t"}))
    assert engine(str(path)) == engines()["trtllm"]
    for text in ("{}", "[", json.dumps({"kvtui_calibration": 1, "profile": {"base_us": -1}}), "null"):
        path.write_text(text)
        with pytest.raises(ConfigError):
            engine(str(path))
    with pytest.raises(ConfigError, match="unknown engine"):
        engine("orca")


@pytest.mark.parametrize(("engine", "said"), [("aiconfigurator", "no profile"), ("orca", "unknown engine")])
def test_an_engine_without_a_profile_is_refused_and_not_named_as_one(
    tmp_path: Path, engine: str, said: str
) -> None:
    told = complaint("steptime", "--check", written(tmp_path), "--engine", engine)
    assert said in told
    assert "aiconfigurator, or" not in told


def test_a_calibration_tells_at_which_server_its_fit_began(tmp_path: Path) -> None:
    lines = (f"h100-sxm,llama-3.1-8b,1,decode,step,,{n},512,,,9.5,bf16,sglang" for n in (1, 2, 4, 8))
    mine = str(tmp_path / "mine.json")
    done = kvtui("steptime", "--fit", written(tmp_path, *lines), "--engine", "sglang", "-o", mine)
    assert done.returncode == 0, done.stderr
    assert software(mine) == "sglang"
    assert [software(name) for name in ("vllm-2023", "none.json", "trtllm")] == ["vllm", "vllm", "trtllm"]


@pytest.mark.parametrize("before", ["", "gpu,model,tp,phase,scope,batch_size,context_len,measured_ms\n"])
def test_a_field_longer_than_any_is_refused(tmp_path: Path, before: str) -> None:
    (tmp_path / "long.csv").write_text(before + "x" * 200_000 + "\n")
    with pytest.raises(TraceError, match="no table"):
        read(str(tmp_path / "long.csv"))


@pytest.mark.parametrize("measured", ["1e-320", "1e-9", "1e200", "nan", "inf", "-1"])
def test_a_time_that_cannot_be_measured_gives_no_error_that_is_no_number(
    tmp_path: Path, measured: str
) -> None:
    table = tmp_path / "table.csv"
    row = "h100-sxm,llama-3.1-8b,1,decode,step,8,1024"
    table.write_text(
        f"gpu,model,tp,phase,scope,batch_size,context_len,measured_ms\n{row},{measured}\n{row},8.5\n"
    )
    rows, left_out = read(str(table))
    assert left_out == {"no usable measured_ms": 1}
    assert all(isfinite(value) for family in check(rows).families().values() for value in family.values())
