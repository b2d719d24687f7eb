"""What no cell could use is refused before any runs; what is recommended can be carried out."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.errors import ConfigError
from kvtui.frames.slo import Slo
from kvtui.sweep.advice import FP8_NOTE, NO_LIMIT, answer, report, serve_command
from kvtui.sweep.choices import known
from kvtui.sweep.html import page
from kvtui.sweep.table import table
from kvtui.timing.coefficients import calibration_text, engines
from tests.cli.run import complaint
from tests.sweep.test_sweep import made
from tests.sweep.work import cell


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--gpu", "l4,zorb", 'unknown GPU "zorb"'),
        ("--model", "zorb", 'unknown model "zorb"'),
        ("--kv-dtype", "zorb", 'unknown KV type "zorb"'),
        ("--kv-cache-dtype", "fp9", "did you mean fp8"),
        ("--manager", "paged;zorb", "there is no lane 'zorb'"),
        ("--manager", "paged:16,32;", "block_size is said twice, 16 and 32"),
        ("--manager", "paged:32", "block_size is an axis"),
        ("--manager", "paged:backend=torch", "a sweep is simulated"),
        ("--engine", "zorb", 'unknown engine "zorb"'),
        ("--vllm", "0.1", "no rules for vLLM '0.1'"),
        ("--gpu-memory-utilization", "1.5", "at most 1"),
        ("--jobs", "10000000", "1<=x<=1024"),
        ("--report", "x.pdf", "FILE.html"),
        ("--ledger", "/dev/full", "no file that a ledger"),
    ],
)
def test_what_cannot_be_is_refused_at_once(option: str, value: str, said: str) -> None:
    assert said in complaint("sweep", "burst", "--limit", "2", option, value)


def test_step_times_of_another_package_are_a_choice_of_a_sweep() -> None:
    assert known("engine", "aiconfigurator") == "aiconfigurator"
    with pytest.raises(ConfigError) as refused:
        known("engine", "aiconfigurater")
    assert "aiconfigurator" in (refused.value.hint or "")


@pytest.mark.parametrize("engine", ["sglang", "trtllm", "file"])
def test_how_vllm_is_started_is_not_said_with_the_times_of_another_engine(
    engine: str, tmp_path: Path
) -> None:
    """Not with a calibration that began at such an engine either."""
    if engine == "file":
        file = tmp_path / "mine.json"
        file.write_text(calibration_text(engines()["trtllm"], {"engine": "trtllm"}))
        engine = str(file)
    theirs = cell(16, model="llama-3.1-8b", engine=engine, slo=Slo(ttft_s=2.0))
    found = answer([made(theirs, usd=1), made(cell(32, model="llama-3.1-8b"), usd=2)])
    assert found.best == theirs.key
    assert serve_command(*made(theirs)) is None
    said = report(found)["recommended"]
    assert (said["command"], said["vllm_flags"]) == (None, None)
    for text in (table(found), page(found)):
        assert "vllm serve" not in text
        assert "not of vLLM" in text
        assert "block 16" in text or "tokens a block 16" in text


@pytest.mark.parametrize("engine", ["vllm", "aiconfigurator", "mine.json"])
def test_how_vllm_is_started_is_said_with_its_times(engine: str) -> None:
    theirs = cell(16, model="llama-3.1-8b", engine=engine)
    assert (serve_command(*made(theirs)) or "").startswith("vllm serve ")


def test_a_limit_of_a_grid_is_a_number(tmp_path: Path) -> None:
    grid = tmp_path / "grid.toml"
    grid.write_text('[slo]\nttft_s = "soon"\n')
    assert "ttft_s is 'soon'" in complaint("sweep", "burst", "--grid", str(grid))


def test_a_sweep_of_which_nothing_ran_has_not_succeeded() -> None:
    from tests.cli.run import kvtui

    done = kvtui("sweep", "burst", "--limit", "2", "--gpu", "t4", "--jobs", "1")
    assert (done.returncode, "does not fit" in done.stdout) == (2, True)
    assert done.stderr.startswith("kvtui: no cell ran to its end: ")


def test_the_command_names_what_vllm_can_load(tmp_path: Path) -> None:
    told = serve_command(*made(cell(16, model="llama-3.1-8b"))) or ""
    assert told.startswith("vllm serve meta-llama/Llama-3.1-8B-Instruct --gpu-memory-utilization 0.92")
    (tmp_path / "config.json").write_text("{}")
    assert f"vllm serve {tmp_path} " in (
        serve_command(*made(cell(16, model=str(tmp_path / "config.json")))) or ""
    )
    assert (serve_command(*made(cell(16, manager="paged:prefix_cache=off"))) or "").endswith(
        "--no-enable-prefix-caching"
    )
    assert serve_command(*made(cell(16, manager="contiguous:pow2"))) is None
    assert "--max-model-len 2048" in told, "the model's own maximum may not fit"


def test_blocks_that_vllm_does_not_take_are_not_recommended() -> None:
    small, usual = made(cell(7), usd=1.0), made(cell(16), usd=1.04)
    assert answer([small, usual]).best == usual[0].key
    alone = answer([small])
    assert "none of 7" in table(alone)
    assert report(alone)["recommended"]["command"] is None


def test_equal_cells_keep_16_bits_of_kv() -> None:
    eight, sixteen = cell(16, kv_dtype="fp8"), cell(16)
    found = answer([made(eight, usd=0.96), made(sixteen, usd=1.0)])
    assert found.best == sixteen.key
    assert FP8_NOTE not in table(found)
    assert "it keeps 16 bits" in table(found)
    found = answer([made(eight, usd=0.9), made(sixteen, usd=1.0)])
    assert found.best == eight.key
    assert FP8_NOTE in table(found)
    assert FP8_NOTE in page(found)


def test_settings_that_make_no_difference_ask_for_more_traffic() -> None:
    slow, alike = (made(cell(32)), made(cell(16)))
    slow = slow[0], slow[1] | {"output_tokens_per_s": 50.0}
    again = made(cell(32, scale_rate=2.0))
    assert "--block-size 16,32, are compared" in table(answer([alike]))
    for cells, told in (([alike, made(cell(32))], True), ([alike, slow], False), ([alike, again], False)):
        found = answer(cells)
        assert "--block-size 16,32, are compared" not in table(found)
        assert ("--scale-rate 4 sends it four times as fast" in table(found)) == told
        assert ("All settings give the same tokens/s" in page(found)) == told


def test_without_limits_none_is_said_to_be_kept() -> None:
    free, bound = (answer([made(cell(16, slo=slo))]) for slo in (Slo(), Slo(ttft_s=1)))
    assert f"Cheapest ({NO_LIMIT}):" in table(free)
    assert "Cheapest that keeps the limits:" in table(bound)
    assert (
        "empty: held and empty, or in holes too small for a request: the mean share of the whole pool"
        in table(free)
    )
    assert "keep the limits cost" not in page(free)
    assert "1.0 % of its KV memory is held empty: that share of the rent, $730 a month, is $3." in table(
        bound
    )


def test_what_keeps_no_limit_is_not_recommended() -> None:
    found = answer([made(cell(16), good=0.5), made(cell(32), good=0.2)])
    assert "the nearest has 50.0%: on l4, block 16." in table(found)
    assert "vllm serve" not in table(found)
    assert "vllm serve" not in page(found)
    assert report(found)["recommended"]["command"] is None
