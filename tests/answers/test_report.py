"""The same run headless and on the screen gives the same figures: they are the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from kvtui.answers.report import summary
from kvtui.answers.table import table
from kvtui.answers.verdict import verdict
from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.frames.counts import Percentiles
from kvtui.frames.frame import Frame
from kvtui.hardware import catalogue
from kvtui.traces import load
from kvtui.traces.synthetic import path_of


def experiment(name: str, *lanes: str, **options: Any) -> Experiment:
    specs = tuple(LaneSpec.parse(text) for text in lanes or ("contiguous", "paged"))
    workload = load(str(path_of(name)))
    return Experiment(workload, catalogue.model(DEFAULT_MODEL), catalogue.gpu(DEFAULT_GPU), specs, **options)


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=1e-6)


def same_percentiles(reported: dict[str, Any], shown: Percentiles) -> None:
    assert reported == {name: n if name == "n" else near(n) for name, n in shown._asdict().items()}


def same(reported: dict[str, Any], shown: Frame) -> None:
    counters = shown.counters
    assert reported["requests"]["finished"] == counters.finished
    assert reported["requests"]["rejected"] == counters.rejected
    assert reported["requests"]["preemptions"] == counters.preemptions
    assert reported["batch"] == {"mean": near(counters.batch_mean), "peak": counters.batch_peak}
    shares = [v for k, v in reported["kv"].items() if k.endswith("_pct")]
    assert shares == list(counters.split_mean)
    assert reported["prefix"]["hit_tokens"] == counters.hit_tokens
    for name in ("ttft", "tpot", "e2e"):
        same_percentiles(reported["latency"][f"{name}_s"], getattr(counters, name))
    assert reported["throughput"]["output_tokens_per_s"] == near(counters.output_tokens_per_s)
    assert reported["time_s"] == near(shown.time_s)
    assert reported["steps"] == shown.step


@pytest.mark.parametrize("options", [{}, {"until_s": 40.0}, {"async_scheduling": True}])
def test_headless_figures_are_those_of_the_screen(options: dict[str, Any]) -> None:
    tried = experiment("burst", "contiguous", "paged", "paged:block_size=64", **options)
    headless = tried.build(watched=False)
    for lane in headless:
        lane.run()
    on_screen = tried.build()
    for lane in on_screen:
        at = 0
        while lane.step():
            at += 1
            if at % 97 == 0:
                lane.frame()
    for reported, lane in zip(summary(tried, headless)["lanes"], on_screen, strict=True):
        same(reported, lane.frame())


def test_the_table_has_a_column_a_lane() -> None:
    tried = experiment("classify", "contiguous", "paged", "paged:kv_dtype=fp8,name=fp8")
    lanes = tried.build(watched=False)
    for lane in lanes:
        lane.run()
    report = summary(tried, lanes)
    text = table(report)
    assert [f"{name:>16}" in text for name in ("contiguous", "paged", "fp8")] == [True] * 3
    contiguous, paged, small = report["lanes"]
    assert small["kv"]["pool_tokens"] == pytest.approx(2 * paged["kv"]["pool_tokens"], rel=0.01)
    assert small["kv"]["pool_bytes"] == pytest.approx(paged["kv"]["pool_bytes"], rel=0.01)
    assert "wins little" in verdict([contiguous, paged])
    worse = paged | {
        "throughput": {"output_tokens_per_s": contiguous["throughput"]["output_tokens_per_s"] / 3}
    }
    assert "paged loses on this traffic" in verdict([contiguous, worse])
    assert f"on {tried.gpu.id}, simulated; requests" in text
    mixed = report | {
        "config": report["config"] | {"device": "CPU"},
        "lanes": [contiguous, paged | {"backend": {"name": "torch", "device": "cpu"}}],
    }
    where = f"on {tried.gpu.id}, simulated and on CPU (attention and copies only), measured; requests"
    assert where in table(mixed)
    told = verdict(mixed["lanes"])
    assert "wins little" not in told
    assert " against " not in told
    assert told.startswith("contiguous runs ")
    assert told.endswith("different clocks, and are not compared.")


@pytest.mark.parametrize(
    ("name", "lanes", "options", "said"),
    [
        ("burst", ["paged"], {}, "paged runs 25.5"),
        ("burst", [], {}, "25.5 against 12.9 requests at once on average (2.0x), and is done in"),
        ("classify", [], {}, "paged wins little on this traffic"),
        ("burst", ["contiguous", "paged:128", "paged:32"], {}, ". paged-128 runs "),
        ("burst", ["paged", "paged:kv_dtype=fp8"], {}, "What fp8 KV does to answers is not simulated."),
        ("burst", [], {"until_s": 30.0}, "paged had finished 8, contiguous had finished 11"),
        ("burst", [], {"until_s": 0.0}, "Nothing ran"),
        ("burst", [], {"slots": 16}, "contiguous refused 320 of 320 requests: never fits into the pool"),
        ("burst", [], {"max_len": 10}, "no room for an answer below the maximum length"),
        ("burst", [], {"slots": 1_000_000}, "Memory was hardly ever the limit"),
    ],
)
def test_the_verdict(name: str, lanes: list[str], options: dict[str, Any], said: str) -> None:
    tried = experiment(name, *lanes, **options)
    built = tried.build(watched=False)
    for lane in built:
        lane.run()
    told = summary(tried, built)
    assert said in told["verdict"]
    assert ("more load: --scale-rate" in table(told)) == ("hardly ever the limit" in told["verdict"])


def test_how_many_fit_is_counted_by_the_manager() -> None:
    tried = experiment("chat", "contiguous", "contiguous:exact,buddy", "paged", slots=10_000)
    largest, exact, paged = summary(tried, tried.build(watched=False))["lanes"]
    assert largest["fits"] == {"max_len": 4, "mean": 4, "p99": 4}
    assert exact["fits"]["max_len"] == 4
    assert exact["fits"]["mean"] == 9  # 40 units each, 64 with the buddies: four in a region and its half
    assert paged["fits"]["mean"] == 10_000 // 16 // 40


def test_a_faster_lane_with_fewer_requests_at_once_is_no_loser() -> None:
    tried = experiment("burst", "paged")
    (lane,) = tried.build(watched=False)
    lane.run()
    (slow,) = summary(tried, [lane])["lanes"]
    throughput = {"output_tokens_per_s": 1.5 * slow["throughput"]["output_tokens_per_s"]}
    fast = slow | {"name": "fast", "batch": {"mean": slow["batch"]["mean"] / 2}, "throughput": throughput}
    told = verdict([slow, fast])
    assert told.startswith("fast is done in ")
    assert "(0.5x), fewer because each is through sooner." in told


def test_bytes_of_several_gpus_are_told_of_each() -> None:
    for tp, said in ((1, False), (2, True)):
        tried = experiment("burst", "paged", tp=tp, until_s=1.0)
        text = table(summary(tried, tried.build(watched=False)))
        assert ("  on each GPU" in text) is said
