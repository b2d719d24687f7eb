"""A figure is the same wherever it is told: table, JSON, page, recording and screen."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html import escape
from pathlib import Path

from kvtui.answers.report import summary
from kvtui.answers.table import rows, table
from kvtui.exports import writer
from kvtui.exports.exhibits import exhibit_of_recording, exhibit_of_run
from kvtui.frames.slo import Slo
from kvtui.recording import Recording
from kvtui.tui.stage import Stage
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.palette import Look
from kvtui.tui.view.summary import summary_lines
from tests.recording.films import film
from tests.tui.stagecraft import small


async def test_a_figure_is_the_same_wherever_it_is_told(tmp_path: Path) -> None:
    experiment = replace(small(requests=150), slo=Slo(ttft_s=1.0))
    built = experiment.build()
    for lane in built:
        lane.run()
    report = summary(experiment, built)
    lanes, run = report["lanes"], exhibit_of_run(experiment, built, report)
    film(tmp_path / "run.kvtui", experiment)
    recording = Recording(tmp_path / "run.kvtui")
    told = table(report).splitlines()
    for shown in (run, exhibit_of_recording(recording)):
        assert json.loads(writer(Path("a.json"))(shown))["report"] == json.loads(json.dumps(report))
        page = writer(Path("a.html"))(shown)
        assert report["verdict"] in page
        for label, figure in filter(None, rows(report)):
            texts = [figure(lane) for lane in lanes]
            assert f"<td>{escape(label)}</td>" + "".join(f"<td>{escape(text)}</td>" for text in texts) in page
            assert any(line.startswith(label) and line.endswith(texts[-1]) for line in told)
    stage = Stage(recording, speed=math.inf)
    await stage.player.run()
    lines = [plain(line) for line in summary_lines(stage.scene(), Look(), width=120)]
    for label, texts in on_screen(lanes).items():
        (line,) = (line for line in lines if line.strip().startswith(label))
        words = line.partition(label)[2].split("  ")
        assert [word.strip() for word in words if word.strip()][: len(lanes)] == texts, line


def on_screen(lanes: list[dict]) -> dict[str, list[str]]:  # type: ignore[type-arg]
    """Lines of the summary page, from the JSON alone."""
    first, each = ([lane["latency"][name] for lane in lanes] for name in ("ttft_s", "tpot_s"))
    return {
        "tokens/s": [f"{lane['throughput']['output_tokens_per_s']:,.0f}" for lane in lanes],
        "peak batch": [f"{lane['batch']['peak']:,}" for lane in lanes],
        "TTFT, p50 / p99": [f"{times['p50']:.1f} / {times['p99']:.1f} s" for times in first],
        "TPOT, mean": [f"{1000 * times['mean']:.0f} ms" for times in each],
        "preempted": [f"{lane['requests']['preemptions']:,}" for lane in lanes],
        "finished": [f"{lane['requests']['finished']:,}" for lane in lanes],
        "SLO kept": [f"{math.floor(1000 * lane['slo']['attainment']) / 10:.1f}%" for lane in lanes],
        "ended at": [f"00:{math.floor(10 * lane['time_s']) / 10:04.1f}" for lane in lanes],
    }
