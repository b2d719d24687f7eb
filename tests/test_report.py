"""The same run headless and on the screen gives the same figures: they are the same fields."""

from __future__ import annotations

from typing import Any

import pytest

from kvtui import catalogue
from kvtui.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.frame import Frame, Percentiles
from kvtui.lanes import LaneSpec
from kvtui.report import summary
from kvtui.table import table
from kvtui.traces import load
from kvtui.traces.synthetic import path_of
from kvtui.verdict import verdict


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


def lane(mean: float, peak: int, time: float) -> dict[str, Any]:
    return {"name": f"lane{peak}", "batch": {"mean": mean, "peak": peak}, "time_s": time}


@pytest.mark.parametrize(
    ("lanes", "said"),
    [
        ([lane(4.0, 5, 10.0)], "lane5 runs 4.0 requests at once"),
        ([lane(0.0, 0, 0.0), lane(0.0, 0, 0.0)], "No request could be served"),
        ([lane(0.0, 0, 0.0), lane(3.0, 4, 9.0)], "lane0 can serve no request at all; lane4 runs 3.0"),
        ([lane(10.0, 12, 10.0), lane(10.5, 13, 9.9)], "lane13 wins little on this traffic"),
        ([lane(10.0, 12, 20.0), lane(30.0, 40, 10.0)], "30.0 against 10.0"),
    ],
)
def test_the_verdict(lanes: list[dict[str, Any]], said: str) -> None:
    assert said in verdict(lanes)
