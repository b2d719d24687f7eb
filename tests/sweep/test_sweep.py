"""Cells, grids, advice, and what is printed of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kvtui.cli.build import source_of
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.frames.slo import Slo
from kvtui.sweep.advice import LOAD_NOTE, answer, gpus_for, report, vllm_flags
from kvtui.sweep.cell import Cell, Result, experiment_of, run_cell
from kvtui.sweep.grid import expand, read_grid, values
from kvtui.sweep.html import page
from kvtui.sweep.plot import Point, scatter
from kvtui.sweep.table import table
from kvtui.traces.synthetic import recipe
from tests.cli.run import kvtui
from tests.sweep.work import cell

SHA = source_of("burst").sha256


def burst(**changes: Any) -> Cell:
    plain = {"trace": "burst", "trace_sha256": SHA, "model": "llama-3.1-8b", "gpu": "a10g", "limit": 60}
    return Cell(**{**plain, **changes})


def made(cell: Cell, *, usd: float | None = 1.0, e2e: float = 5.0, good: float = 1.0) -> tuple[Cell, Result]:
    spread = {"mean": e2e, "p50": e2e, "p90": e2e, "p99": e2e, "n": 9}
    error = {"median_pct": 7.0, "p90_pct": 20.0, "n": 9, "held_out": True, "measured_on": "others"}
    return cell, {
        "status": "done",
        "max_model_len": cell.max_len or 2048,
        "requests": 9,
        **dict.fromkeys(("ttft_s", "tpot_s", "e2e_s"), spread),
        "output_tokens_per_s": 100.0,
        "slo_attainment": good,
        "goodput_rps": 2.0,
        "wasted_pct": 1.0,
        "usd_per_million_tokens": usd,
        "waste_usd_per_month": None if usd is None else 3.0,
        "price": {"usd_per_gpu_hour": 1.0, "source": "given"},
        "expected_error": {"tpot": error, "ttft": None, "e2e": None},
    }


def test_a_cell_is_the_run_that_kvtui_makes_of_it() -> None:
    result = run_cell(burst(price=1.0, slo=Slo(ttft_s=2.0)))
    headless = json.loads(
        kvtui(
            *("burst", "--headless", "--json", "--lane", "paged", "--limit", "60"),
            *("--gpu-memory-utilization", "0.92"),
        ).stdout
    )
    (lane,) = headless["lanes"]
    assert result["status"] == "done"
    assert result["output_tokens_per_s"] == lane["throughput"]["output_tokens_per_s"]
    assert result["e2e_s"] == lane["latency"]["e2e_s"]
    expected = 1.0 / 3600 / result["output_tokens_per_s"] * 1e6
    assert result["usd_per_million_tokens"] == pytest.approx(expected, rel=1e-4)
    assert result == run_cell(burst(price=1.0, slo=Slo(ttft_s=2.0)))


@pytest.mark.parametrize(("release", "share"), [("0.12", 0.9), ("0.32", 0.92)])
def test_a_cell_uses_the_share_of_its_release(release: str, share: float) -> None:
    """As `kvtui run --vllm RELEASE` does, and the flags say it."""
    asked = burst(vllm=release)
    assert asked == burst(vllm=release, utilization=share)
    tried = experiment_of(asked)
    lanes = (LaneSpec("paged"),)
    ran = Experiment(tried.workload, tried.model, tried.gpu, lanes, vllm=release)
    assert tried.pool_slots(lanes[0]) == ran.pool_slots(lanes[0])
    assert f"--gpu-memory-utilization {share:g} " in vllm_flags(*made(asked))


def test_attainment_counts_requests_that_keep_every_limit() -> None:
    loose, tight = run_cell(burst(slo=Slo())), run_cell(burst(slo=Slo(ttft_s=1e-6)))
    assert (loose["slo_attainment"], tight["slo_attainment"]) == (1.0, 0.0)
    middle = run_cell(burst())["e2e_s"]["p50"]
    half = run_cell(burst(slo=Slo(e2e_s=middle)))["slo_attainment"]
    assert half == pytest.approx(0.5, abs=0.03)
    slow = run_cell(burst())["tpot_s"]["p90"]
    assert run_cell(burst(slo=Slo(tpot_s=slow)))["slo_attainment"] == pytest.approx(0.9, abs=0.04)


def test_what_cannot_run_says_why() -> None:
    assert run_cell(burst(gpu="t4"))["status"] == "does not fit"
    assert "other" in run_cell(burst(trace_sha256="x"))["reason"]
    assert run_cell(burst(model="nobody"))["status"] == "refused"
    assert run_cell(burst(block_size="x"))["status"] == "failed"


def test_a_grid_is_every_combination_once() -> None:
    fixed = {"trace": "t", "trace_sha256": "", "model": "m", "gpu": "g"}
    cells = expand(fixed, {"block_size": (16, 32), "gpu": ("a", "b", "a"), "tp": ()})
    assert [(c.gpu, c.block_size) for c in cells] == [("a", 16), ("a", 32), ("b", 16), ("b", 32)]
    assert len({c.key for c in cells}) == 4
    with pytest.raises(ConfigError, match="more than"):
        expand(fixed, {"block_size": range(1000), "max_len": range(1000)})


def test_values_of_an_axis() -> None:
    assert values("block_size", "16, 32,16") == (16, 32)
    assert values("manager", "paged;contiguous:pow2,buddy") == ("paged", "contiguous:pow2,buddy")
    for name, text in (("block_size", "x"), ("block_size", "0"), ("utilization", "-1"), ("gpu", " ")):
        with pytest.raises(ConfigError):
            values(name, text)


def test_a_grid_out_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "grid.toml"
    path.write_text(
        'block_size = [16, 32]\ngpu = "l4"\nmanager = ["contiguous:pow2,buddy"]\n[slo]\nttft_s = 2\n'
    )
    axes = {"block_size": (16, 32), "gpu": ("l4",), "manager": ("contiguous:pow2,buddy",)}
    assert read_grid(str(path)) == (axes, {"ttft_s": 2})
    for text in ("blocksize = 3", "[slo]\nspeed = 1", "= 3", "slo = 3"):
        path.write_text(text)
        with pytest.raises(ConfigError):
            read_grid(str(path))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_grid(str(tmp_path / "none"))


def test_the_cheapest_that_keeps_the_limits_is_taken() -> None:
    cheap, good, dear = (cell(n) for n in (1, 2, 3))
    found = answer([made(cheap, usd=1, good=0.5), made(dear, usd=3), made(good, usd=2)])
    assert (found.best, found.kept) == (good.key, True)
    assert [c.block_size for c, _ in found.cells] == [2, 3, 1]
    assert found.pareto == {cheap.key, good.key}
    nothing = answer([made(cheap, good=0.2), made(dear, usd=3, good=0.9)])
    assert (nothing.best, nothing.kept) == (dear.key, False)
    assert answer([]).best is None


def test_without_a_price_speed_orders() -> None:
    slow, fast = made(cell(1), usd=None), made(cell(2), usd=None)
    fast[1]["output_tokens_per_s"] = 200.0
    assert answer([slow, fast]).best == cell(2).key


def test_gpus_for_a_load_are_whole_replicas() -> None:
    two = cell(1, tp=2)
    assert gpus_for(*made(two), 5.0, 0.99) == 6, "three replicas of two"
    assert gpus_for(*made(two, good=0.5), 5.0, 0.99) is None
    assert gpus_for(*made(two), None, 0.99) is None


@pytest.mark.parametrize(("load", "gpus"), [(5.0, "3 GPUs"), (2.0, "1 GPU")])
def test_gpus_for_a_load_are_said_to_be_at_most(load: float, gpus: str) -> None:
    """A replica has the goodput of the trace's rate; it may bear more."""
    found = answer([made(cell(1))], load_rps=load)
    assert f"{load:g} requests a second need at most <b>{gpus}</b>, at the rate of this trace." in page(found)
    text = table(found)
    assert text.splitlines()[2].endswith("GPUs")
    assert LOAD_NOTE in text
    assert "at the rate of this trace" in LOAD_NOTE
    assert report(found)["load_note"] == LOAD_NOTE


def test_without_a_load_nothing_is_said_of_gpus_for_it() -> None:
    found = answer([made(cell(1))])
    assert report(found)["load_note"] is None
    assert "at most" not in table(found)


def test_flags_for_vllm() -> None:
    flags = vllm_flags(*made(cell(32, tp=2, kv_dtype="fp8", max_num_seqs=64, max_len=4096)))
    assert flags == (
        "--tensor-parallel-size 2 --gpu-memory-utilization 0.92 --block-size 32 --kv-cache-dtype fp8 "
        "--max-num-seqs 64 --max-model-len 4096"
    )


def test_table_and_page_say_the_error_of_each_prediction() -> None:
    refused: Result = {"status": "does not fit", "reason": "too <large>"}
    found = answer([made(cell(1)), made(cell(2), usd=2, e2e=1), (cell(3), refused)], load_rps=5)
    text = table(found)
    assert "median 7 %, p90 20 % (9 held out: others)" in text
    assert "n/a, nobody has measured" in text
    assert "does not fit: block 3: too <large>" in text
    html = page(found)
    assert "too &lt;large&gt;" in html
    assert "±7 %" in html
    assert "±n/a" in html
    assert html.count("<circle") == 2
    assert "whiskers" not in html.lower()
    assert re.search(r"tok/s, \$/M: no error of their own", text)
    assert re.search(r"E2E \(vllm\): n/a", text)
    assert "tokens/s, $/M tok</td><td colspan=4>no error of their own" in html
    assert re.search(r"<td>E2E \(vllm\)</td><td>n/a</td>", html)
    assert not re.search(r"(src|href)\s*=|https?:|<script", html), "needs nothing but itself"
    assert json.loads(json.dumps(report(found)))["recommended"]["keeps_slo"]
    assert "None of the settings" in page(answer([(cell(3), refused)]))


def test_four_settings_fit_into_a_terminal_and_the_page_says_them_in_words() -> None:
    cells = [
        cell(16, gpu=gpu, manager=manager, kv_dtype=kind, max_num_seqs=seqs, slo=Slo(ttft_s=2.0))
        for gpu, manager, kind, seqs in (
            ("h100-sxm", "contiguous", "auto", 256),
            ("l4", "paged", "fp8", 64),
        )
    ]
    found = answer([made(each) for each in cells], load_rps=5)
    assert max(map(len, table(found).splitlines()[:3])) <= 80
    said = re.sub(r"<style>.*?</style>|<code>.*?</code>", "", page(found), flags=re.S)
    for words in ("requests at once at most", "16 bits", "vLLM&#x27;s own", "TTFT 2 s at most"):
        assert words in said
    for word in ("p99", "ttft", "max_num", "--scale-rate", "default"):
        assert word not in said


def test_the_page_shows_the_error_of_a_whole_request_as_unknown_and_dollars_first() -> None:
    (row,) = re.findall(r"<tr class=best>.*?</tr>", page(answer([made(cell(1))])))
    figures = re.findall(r"<td class=figure>(.*?)</td>", row)
    assert figures == [
        *("1.00", "100%", "2.00", "100", "5.0 s <small>±n/a</small>", "5.0 s <small>±7 %</small>"),
        *("5.0 s <small>±n/a</small>", "1.0 % <small>$3 a month</small>"),
    ]


def test_errors_of_several_gpus_are_told_apart() -> None:
    """Those of a GPU on which nobody measured say so."""
    results = [(c, run_cell(c)) for c in (burst(gpu="a10g", limit=3), burst(gpu="h100-sxm", limit=3))]
    found = answer(results)
    for text in (table(found), page(found)):
        assert len(re.findall(r"b200, h100-sxm, h200; none on a10g", text)) == 2
        assert len(re.findall(r"b200, h100-sxm, h200(?!;)", text)) == 2
        assert re.search(r"pool \(h100-sxm\)\W.*off by [\d.]+ % at most on \d+ servers? with this GPU", text)
        assert re.search(r"pool \(a10g\)\W.*off by [\d.]+ % at most on \d+ servers? with other GPUs", text)


def test_the_page_says_which_seeds_there_are() -> None:
    bundled = page(answer([made(burst())]))
    assert f"<td>seed</td><td>{recipe('burst').seed}, of the bundled trace burst</td>" in bundled
    own = page(answer([made(burst(trace="/data/mine.csv"))]))
    assert "<td>seed</td><td>none: nothing is drawn</td>" in own


def test_a_page_can_be_written_whatever_the_trace_is_called() -> None:
    text = page(answer([made(burst(trace="/data/m\udcff.csv"))]))
    assert "<h1>m?.csv: 1 settings compared" in text
    text.encode()


def test_goodput_is_good_requests_over_the_time_they_took() -> None:
    """Counted request by request."""
    tried = burst(slo=Slo(e2e_s=run_cell(burst())["e2e_s"]["p50"]))
    result = run_cell(tried)
    (lane,) = experiment_of(tried).build(watched=False)
    lane.run()
    ends, arrivals = lane.engine.results.finish, lane.engine.workload.arrival_ns * 1000
    good = sum(end - start <= tried.slo.e2e_s * 10**12 for start, end in zip(arrivals, ends, strict=True))
    assert 0 < good < len(ends)
    assert result["goodput_rps"] == pytest.approx(good / (max(ends) / 10**12), rel=1e-5)
    text = table(answer([(tried, result)]))
    head, row = text.splitlines()[2:4]
    assert row.split()[head.split().index("rps") + 1] == f"{result['goodput_rps']:.3g}"


def test_waste_is_its_share_of_the_rent() -> None:
    tried = burst(price=2.0, manager="contiguous")
    result = run_cell(tried)
    assert result["wasted_pct"] > 10
    rent = 2.0 * 730 * result["wasted_pct"] / 100
    assert result["waste_usd_per_month"] == pytest.approx(rent, rel=1e-5)
    assert f"<small>${rent:,.0f} a month</small>" in page(answer([(tried, result)]))


def test_a_plot_keeps_points_inside() -> None:
    svg = scatter([Point(3.0, 7.0, "best", "a & b")], x="x", y="y")
    assert "a &amp; b" in svg
    assert 0 < float(re.findall(r'cx="([\d.]+)"', svg)[0]) < 720
    assert scatter([], x="x", y="y") == ""


def test_the_command(tmp_path: Path) -> None:
    ledger, html = tmp_path / "l.jsonl", tmp_path / "page.html"
    command = (
        "sweep",
        "burst",
        "--limit",
        "40",
        "--block-size",
        "16,32",
        "--jobs",
        "1",
        "--ledger",
        str(ledger),
    )
    first = kvtui(*command, "--json", "--report", str(html))
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert [c["status"] for c in told["cells"]] == ["done", "done"]
    assert html.read_text().startswith("<!doctype html>")
    again = kvtui(*command, "--json")
    assert again.stdout == first.stdout
    assert "2 of 2 cells are in the ledger" in again.stderr
    refused = kvtui(*command, "--report", str(html))
    assert (refused.returncode, "not overwritten" in refused.stderr) == (2, True)
