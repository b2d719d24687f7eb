"""Exports say what the engine says, and nothing is overwritten."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kvtui.answers.report import summary
from kvtui.errors import ConfigError
from kvtui.exports import Exhibit, export, writer
from kvtui.exports.exhibits import exhibit_of_recording, exhibit_of_run
from kvtui.recording import Recording
from kvtui.tui import exporting
from tests.cli.run import complaint, kvtui
from tests.recording.films import filmed
from tests.tui.stagecraft import small, stand_at, still
from tests.tui.test_screen import SIZE, text

NAMES = ("a.html", "a.csv", "a.json", "a.trace.json")


@cache
def exhibit() -> Exhibit:
    experiment = small(requests=150)
    lanes = experiment.build()
    for lane in lanes:
        lane.run()
    return exhibit_of_run(experiment, lanes, summary(experiment, lanes))


def text_of(name: str) -> str:
    return writer(Path(name))(exhibit())


def test_a_row_for_every_request_of_every_lane() -> None:
    rows = [*csv.DictReader(io.StringIO(text_of("a.csv")))]
    assert Counter(row["lane"] for row in rows) == {"contiguous": 150, "paged": 150}
    reports = {report["name"]: report for report in exhibit().report["lanes"]}
    for name, report in reports.items():
        mine = [row for row in rows if row["lane"] == name]
        assert sum(row["state"] == "finished" for row in mine) == report["requests"]["finished"]
        assert sum(int(row["preemptions"]) for row in mine) == report["requests"]["preemptions"]
        waits = [float(r["first_token_s"]) - float(r["arrival_s"]) for r in mine if r["first_token_s"]]
        assert sum(waits) / len(waits) == pytest.approx(report["latency"]["ttft_s"]["mean"], abs=1e-5)
        assert max(float(row["end_s"]) for row in mine) == pytest.approx(report["time_s"], abs=1e-5)
        again = sum(int(row["recomputed_tokens"]) for row in mine)
        assert (again > 0) == (report["requests"]["preemptions"] > 0)


def test_json_has_report_figures_and_requests() -> None:
    data = json.loads(text_of("a.json"))
    assert data["report"] == exhibit().report
    assert [lane["lane"]["name"] for lane in data["lanes"]] == ["contiguous", "paged"]
    assert data["lanes"][1]["counters"]["ttft"]["p50"] == exhibit().lanes[1].frame.counters.ttft.p50
    assert len(data["lanes"][0]["requests"]) == 150


def test_the_trace_has_every_step_and_every_request() -> None:
    events = json.loads(text_of("a.trace.json"))["traceEvents"]
    for pid, lane in enumerate(exhibit().lanes, start=1):
        mine = [event for event in events if event["pid"] == pid]
        steps = [event for event in mine if event["ph"] == "X"]
        assert sum(event["args"]["steps"] for event in steps) == lane.frame.step
        ends = [event["ts"] + event["dur"] for event in steps]
        assert all(one <= other["ts"] + 1e-3 for one, other in zip(ends, steps[1:], strict=False))
        spans = Counter((event["ph"], event["id2"]["local"]) for event in mine if event["ph"] in "be")
        for request in range(150):
            assert spans["b", f"r{request}"] == spans["e", f"r{request}"] >= 2
        counts = [event["args"] for event in mine if event["ph"] == "C"]
        assert max(count["running"] for count in counts) == lane.frame.counters.batch_peak
        assert counts[-1] == {"running": 0, "waiting": 0}


def test_the_page_needs_nothing_but_itself() -> None:
    page = text_of("a.html")
    HTMLParser().feed(page)
    assert not re.search(r"(src|href)\s*=|url\(|@import", page)
    assert exhibit().report["verdict"] in page
    assert page.count("<polyline") == 2
    assert f"{exhibit().report['lanes'][1]['batch']['mean']:.1f}" in page


def test_names_of_others_cannot_do_anything_in_a_page() -> None:
    from dataclasses import replace

    shown = exhibit()
    heading = replace(shown.heading, trace="<script>alert(1)</script>")
    assert "<script>" not in writer(Path("a.html"))(replace(shown, heading=heading))


def test_a_recording_exports_what_its_run_exports() -> None:
    recorded = exhibit_of_recording(Recording(filmed()))
    for name in NAMES[:3]:
        assert writer(Path(name))(recorded) == text_of(name), name


def test_nothing_is_overwritten_and_odd_names_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="not overwritten"):
        export(exhibit(), path)
    assert path.read_text() == "mine"
    export(exhibit(), path, force=True)
    assert path.read_text() == text_of("a.csv")
    with pytest.raises(ConfigError, match="does not say"):
        export(exhibit(), tmp_path / "a.pdf")
    with pytest.raises(ConfigError, match="cannot be written"):
        export(exhibit(), tmp_path / "no" / "a.csv")


def test_headless_runs_and_replays_export(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in NAMES]
    run = ("classify", "--limit", "30", "--blocks", "400", "--headless")
    done = kvtui(*run, *(word for name in names for word in ("--export", name)))
    assert done.returncode == 0, done.stderr
    assert all(Path(name).stat().st_size for name in names)
    assert "not overwritten" in complaint(*run, "--export", names[0])
    assert "does not say" in complaint(*run, "--export", str(tmp_path / "x"))
    assert "--headless" in complaint("classify", "--export", names[0])
    again = kvtui("replay", str(filmed()), "--headless", "--export", str(tmp_path / "b.csv"))
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "b.csv").read_text() == text_of("a.csv")


async def test_e_asks_for_a_name_and_asks_again_before_it_replaces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = still(small(requests=150))
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 2.0)
        await pilot.press("e", "enter")
        await pilot.pause(0.3)
        (page,) = tmp_path.iterdir()
        assert page.suffix == ".html"
        assert "<svg" in page.read_text()
        assert not re.search(r"https?://(?!www\.w3\.org|www\.textualize\.io)|url\((?!#)", page.read_text())
        assert f"Exported to {page.name}" in text(app, "caption")
        page.write_text("mine")
        await pilot.press("e", "enter")
        await pilot.pause()
        assert page.read_text() == "mine"
        await pilot.press("escape")
        await pilot.press("e", "enter", "enter")
        await pilot.pause(0.3)
        assert page.read_text() != "mine"
        await pilot.press("e", "x", "enter")
        await pilot.pause()
        assert app.screen is not app.main, "it asks again"
        await pilot.press("escape")


async def test_it_says_that_it_writes_before_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    seen = []
    app = still(small(requests=150))

    def export(*what: object, **how: object) -> None:
        seen.append("\n".join(strip.text for strip in app.screen._compositor.render_strips()))

    monkeypatch.setattr(exporting, "export", export)
    async with app.run_test(size=SIZE) as pilot:
        stand_at(app, 2.0)
        await pilot.press("e", "enter", "enter")
        await pilot.pause(0.3)
        assert app.screen is app.main
    assert len(seen) == 1, "a second enter is no second export"
    assert "Writing it ..." in seen[0]


async def test_of_a_name_without_room_the_end_is_to_be_seen() -> None:
    app = still(replace(small(), workload=replace(small().workload, name="long-" * 20 + "name.csv")))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("e")
        await pilot.pause()
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "long-name-00-00.0.html" in shown
