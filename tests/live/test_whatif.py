"""Simulated lanes beside servers: the same requests, as they become known, and never more than is known."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvtui.cli.attach import _say
from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import Heading
from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.hardware import catalogue
from kvtui.live.poll import attach, now_s
from kvtui.live.session import FAR_PS, Session
from kvtui.live.traffic.tracefile import TraceFile
from kvtui.live.whatif.beside import WhatIf
from kvtui.live.whatif.feed import Feed
from kvtui.live.whatif.tail import LOST_S, MARGIN_S, Known, Tail
from kvtui.serving.intake import BlockKeys
from kvtui.traces import load
from kvtui.traces.workload import Workload
from kvtui.tui.app import KvtuiApp
from kvtui.tui.liveshow import LiveShow
from kvtui.units import picoseconds
from tests.cli.run import KVTUI, complaint, kvtui
from tests.live.fake import Answers, vllm_page
from tests.live.test_screen import CONFIG, seen, text_of

UNIT = 16


class Recording:
    """What `kvtui record` writes, at times that a test tells."""

    def __init__(self, path: Path, *, ago_s: float = 60.0) -> None:
        self.path = path
        self.began = time.time() - ago_s
        path.write_text("")
        self.write({"kvtui_workload": 1, "name": "t", "unit": UNIT, "began_unix_s": self.began})

    def write(self, value: object) -> None:
        with self.path.open("a") as stream:
            stream.write(json.dumps(value) + "\n")

    def open(self, at_ms: float) -> None:
        self.write({"open_ms": at_ms})

    def row(self, at_ms: float, prompt: int | None = 32, output: int = 8, **more: Any) -> None:
        self.write({"at_ms": at_ms, "prompt": prompt, "output": output, **more})


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "trace.jsonl")


def experiment(workload: Workload, *lanes: str, slots: int = 1600) -> Experiment:
    specs = tuple(map(LaneSpec.parse, lanes or ("paged",)))
    model, gpu = catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g")
    return Experiment(workload, model, gpu, specs, slots=slots, max_len=512)


class Given:
    """Requests that a test tells."""

    name, unit, since_s = "given", UNIT, 0.0

    def __init__(self) -> None:
        self.known: list[Known] = []
        self.until_s = 0.0

    def take(self) -> tuple[list[Known], float]:
        known, self.known = self.known, []
        return known, self.until_s

    def doubts(self) -> Iterator[str]:
        return iter(())


# ---- the trace that grows


def test_requests_are_read_from_a_file_that_tells_of_them_as_they_come(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConfigError, match="is no file"):
        Tail(pipe)
    spans = tmp_path / "spans.jsonl"
    trace = TraceFile(spans, about="spans of a server")
    trace.begin()
    trace.close()
    with pytest.raises(ConfigError, match="does not say when") as raised:
        Tail(spans)
    assert raised.value.hint is not None
    assert "spans and KV events tell of requests that are over" in raised.value.hint


def test_it_is_said_when_the_server_has_another_memory_than_the_lanes() -> None:
    pool = [1280.0]
    beside = WhatIf(Given(), experiment, pool=lambda: pool[-1])
    assert not list(beside.warnings())
    pool.append(2560.0)
    (words,) = beside.warnings()
    assert (
        words == "The server has memory for 2,560 tokens now; lanes keep the 1,280 that it had at the start."
    )


def test_a_request_that_is_not_over_holds_back_those_after_it(recording: Recording) -> None:
    tail = Tail(recording.path)
    assert tail.take()[0] == []
    recording.open(1000.0)
    recording.open(2000.0)
    recording.row(2000.0, output=7)
    known, until_s = tail.take()
    assert known == []
    assert until_s == pytest.approx(tail.since_s + 1)
    recording.row(1000.0, output=5)
    known, until_s = tail.take()
    assert [row.output for row in known] == [5, 7]
    assert [row.at_s for row in known] == pytest.approx([tail.since_s + 1, tail.since_s + 2])
    assert until_s == pytest.approx(now_s() - MARGIN_S, abs=0.2)


def test_only_whole_lines_count(recording: Recording) -> None:
    tail = Tail(recording.path)
    with recording.path.open("a") as stream:
        stream.write('{"at_ms": 5, "prompt": 3')
        stream.flush()
        assert tail.take()[0] == []
        stream.write('2, "output": 4}\nnonsense\n')
    assert [row.prompt for row in tail.take()[0]] == [32]


def test_what_has_no_length_is_counted_and_left_out(recording: Recording) -> None:
    recording.open(5.0)
    recording.row(5.0, prompt=None)
    tail = Tail(recording.path)
    known, until_s = tail.take()
    assert known == []
    assert "1 requests" in " ".join(tail.doubts())
    assert until_s > tail.since_s + 50


def test_a_recording_that_begins_anew_has_prefixes_of_its_own(recording: Recording) -> None:
    tail = Tail(recording.path)
    recording.row(1.0, ids=[[0, 2]], identified=32)
    again = Recording(recording.path, ago_s=1.0)
    again.row(1.0, ids=[[0, 2]], identified=32)
    (second,) = tail.take()[0]
    again.row(2.0, ids=[[0, 2]], identified=32)
    (third,) = tail.take()[0]
    assert list(second.ids) == list(third.ids)
    fresh = Tail(recording.path)
    assert list(fresh.take()[0][0].ids) != list(second.ids)


def test_a_trace_of_no_time_of_day_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text('{"kvtui_workload": 1, "unit": 16}\n')
    with pytest.raises(ConfigError, match="does not say when"):
        Tail(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        Tail(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    "line",
    [
        '{"at_ms": 2, "prompt": 32, "output": 4, "ids": 7}',
        '{"at_ms": 2, "prompt": 32, "output": 4, "ids": null}',
        '{"at_ms": 2, "prompt": 32, "output": 4, "ids": [["a", 1]]}',
        '{"at_ms": 2, "prompt": 32, "output": 4, "ids": [[0, 9]]}',
        '{"at_ms": 2, "prompt": 32, "output": 4, "ids": [[0, 2]], "identified": 99}',
        '{"at_ms": 2, "prompt": 1' + 30 * "0" + ', "output": 4}',
        '{"at_ms": NaN, "prompt": 32, "output": 4}',
        '{"at_ms": 1e999, "prompt": 32, "output": 4}',
        '{"at_ms": 2, "prompt": 32',
        "[" * 100_000,
        "\0\xff",
    ],
)
def test_a_line_that_cannot_be_read_costs_no_other(recording: Recording, line: str) -> None:
    recording.row(1.0)
    with recording.path.open("a") as stream:
        stream.write(line + "\n")
    recording.row(3.0)
    tail = Tail(recording.path)
    whatif = WhatIf(tail, lambda workload: experiment(workload))
    assert len(whatif.feed.told.workload) == 2
    assert "1 requests of trace.jsonl have no known length or cannot be read" in " ".join(tail.doubts())


def test_another_file_in_its_place_gives_nothing(recording: Recording) -> None:
    tail = Tail(recording.path)
    recording.path.write_text('{"kvtui_workload": 1, "unit": 16}\n{"at_ms": 1, "prompt": 32, "output": 4}\n')
    for _ in range(2):
        with pytest.raises(ConfigError, match="does not say when"):
            tail.take()
    Recording(recording.path, ago_s=1.0).row(2.0)
    assert len(tail.take()[0]) == 1


def test_a_recording_that_was_cut_off_goes_on(recording: Recording) -> None:
    head = recording.path.read_bytes()
    recording.row(1.0)
    tail = Tail(recording.path)
    assert len(tail.take()[0]) == 1
    recording.path.write_bytes(head)
    assert tail.take()[0] == []
    recording.row(2.0, output=9)
    assert [row.output for row in tail.take()[0]] == [9]


def test_what_has_no_end_for_long_holds_nobody_back(recording: Recording) -> None:
    clock = 0.0
    tail = Tail(recording.path, clock=lambda: now_s() + clock)
    recording.open(59_000.0)
    recording.open(59_500.0)
    recording.row(59_500.0)
    assert tail.take()[0] == []
    clock = LOST_S + 60.0
    recording.open((60.0 + LOST_S) * 1000)
    known, until_s = tail.take()
    assert len(known) == 1
    assert until_s == pytest.approx(now_s() + LOST_S, abs=2)
    assert "1 requests of trace.jsonl have had no end for 10 min" in " ".join(tail.doubts())
    recording.row(59_000.0)
    assert len(tail.take()[0]) == 1
    assert not any("no end" in text for text in tail.doubts())


@pytest.mark.parametrize("off_s", [-7200.0, 7200.0])
def test_a_clock_that_differs_is_said(recording: Recording, off_s: float) -> None:
    tail = Tail(recording.path)
    tail.take()
    Recording(recording.path, ago_s=off_s).row(500.0, e2e_ms=100.0)
    tail.take()
    (text,) = tail.doubts()
    assert float(text.split()[2].replace(",", "")) == pytest.approx(7200, abs=2)


def test_who_came_long_before_is_not_counted(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "trace.jsonl", ago_s=3600.0)
    recording.open(1.0)
    recording.row(2.0)
    recording.row(3.0, prompt=None)
    recording.row(3_500_000.0)
    tail = Tail(recording.path)
    known, until_s = tail.take()
    assert len(known) == 1
    assert until_s > now_s() - 1
    assert list(tail.doubts()) == []


def test_lines_about_open_requests_are_none_of_a_trace(recording: Recording) -> None:
    recording.open(1.0)
    recording.row(1.0)
    recording.open(2.0)
    workload = load(str(recording.path))
    assert len(workload) == 1
    assert workload.left_out == ()


# ---- lanes that are fed


def test_a_lane_stands_where_no_more_is_known() -> None:
    given = Given()
    whatif = WhatIf(given, lambda workload: experiment(workload))
    start_s, (lane,) = whatif.start_s, whatif.lanes
    assert lane.next_ps == FAR_PS
    given.known = [Known(start_s + 1, 32, 400, [], 0)]
    given.until_s = start_s + 2
    whatif.feed.read()
    assert lane.next_ps == picoseconds(1)
    whatif.catch_up()
    assert not lane.done
    assert lane.engine.now_ps >= picoseconds(2)
    (snapshot,) = whatif.snapshots([lane], picoseconds(12))
    assert snapshot.behind_s == pytest.approx(10, abs=0.1)
    assert snapshot.reading.running.value == 1
    assert any("behind" in text for text in whatif.told(snapshot.behind_s))
    given.until_s = start_s + 100
    whatif.feed.read()
    whatif.catch_up()
    assert lane.engine.results.finished == 1
    assert lane.stands_ps == picoseconds(100)


def test_fed_as_if_all_had_been_known() -> None:
    given = Given()
    whatif = WhatIf(given, lambda workload: experiment(workload, "paged", "contiguous:max", slots=1024))
    rows = [Known(whatif.start_s + at / 7, 100 + at % 50, 60 + at % 90, [], 0) for at in range(80)]
    for at in range(0, 80, 5):
        given.known, given.until_s = rows[at : at + 5], rows[min(at + 5, 79)].at_s
        whatif.feed.read()
        whatif.catch_up()
    given.until_s = whatif.start_s + 1000
    whatif.feed.read()
    whatif.catch_up()
    assert not whatif.feed.late
    known = experiment(whatif.feed.told.workload, "paged", "contiguous:max", slots=1024).build()
    for fed, whole in zip(whatif.lanes, known, strict=True):
        while whole.step(1 << 60):
            pass
        assert list(fed.engine.results.finish) == list(whole.engine.results.finish)
        assert fed.engine.scheduler.preemptions == whole.engine.scheduler.preemptions


def test_one_that_is_known_too_late_comes_later() -> None:
    given = Given()
    feed = Feed(given, start_s=0.0)
    given.until_s = 10.0
    feed.read()
    given.known, given.until_s = [Known(8.0, 32, 4, [], 0), Known(11.0, 32, 4, [], 0)], 12.0
    feed.read()
    assert feed.late == 1
    assert feed.told.workload.arrival_ns.tolist() == [10_000_000_000, 11_000_000_000]
    assert feed.told.until_ps == picoseconds(12)


def test_what_is_wrong_with_the_requests_is_said(recording: Recording) -> None:
    recording.row(59_000.0, prompt=None)
    whatif = WhatIf(Tail(recording.path), lambda workload: experiment(workload))
    assert "1 requests of trace.jsonl have no known length" in " ".join(whatif.told(0.0))
    recording.path.unlink()
    whatif.start()
    until = time.monotonic() + 10
    while not whatif.feed.problem and time.monotonic() < until:
        time.sleep(0.02)
    whatif.close()
    assert "cannot be read" in next(whatif.told(5.0))
    assert "cannot be read" in whatif.snapshots(whatif.lanes, 0)[0].notes[0]


def test_going_back_and_on_again_gives_the_same() -> None:
    given = Given()
    whatif = WhatIf(given, lambda workload: experiment(workload, "paged", slots=800))
    (lane,), (past,) = whatif.lanes, whatif.histories
    rows = [Known(whatif.start_s + at / 5, 100, 90, list(range(6)), 96) for at in range(60)]
    for at in range(0, 60, 10):
        given.known, given.until_s = rows[at : at + 10], rows[min(at + 10, 59)].at_s
        whatif.feed.read()
        while lane.next_ps < FAR_PS:
            lane.step()
            past.note(lane)
    before = past.at_time(picoseconds(5))
    assert before.now_ps < lane.now_ps
    while before.next_ps < FAR_PS:
        before.step()
    assert before.now_ps == lane.now_ps
    assert before.frame().counters == lane.frame().counters
    assert lane.engine.scheduler.prefix.hits > 0


def test_what_is_kept_of_a_lane_keeps_no_list_of_requests_anew() -> None:
    given = Given()
    whatif = WhatIf(given, lambda workload: experiment(workload, "paged", slots=800))
    (lane,), past = whatif.lanes, Checkpoints(whatif.lanes[0], every=1, shared=(Feed,))
    for at in range(9):
        given.known, given.until_s = [Known(whatif.start_s + at, 40, 9, [0, 1], 32)], whatif.start_s + at + 1
        whatif.feed.read()
        whatif.catch_up()
        past.note(lane)
    workload = whatif.feed.told.workload
    for _, shared in past._states[1:]:
        assert sum(isinstance(thing, Workload) for thing in shared) == 1
        (keys,) = (thing for thing in shared if isinstance(thing, BlockKeys))
        assert np.shares_memory(keys._reach, workload.identified)


def test_ids_are_bounded_and_lanes_decide_as_if_all_were_known() -> None:
    """3,000 ids of which 200 are kept; lanes that keep up miss no hit, and going back ends where ids are."""
    given = Given()
    whatif = WhatIf(given, lambda workload: experiment(workload, "paged", slots=1024))
    whatif.feed._most = 200
    (lane,), (past,) = whatif.lanes, whatif.histories
    rows = [Known(whatif.start_s + at, 100, 30, [0, 1, *range(9 * at, 9 * at + 4)], 96) for at in range(500)]
    for at in range(0, 500, 5):
        given.known, given.until_s = rows[at : at + 5], rows[min(at + 5, 499)].at_s
        whatif.feed.read()
        assert len(whatif.feed.told.workload.chain) <= 200
        while lane.next_ps < FAR_PS:
            lane.step()
            past.note(lane)
    given.until_s = whatif.start_s + 1000
    whatif.feed.read()
    whatif.catch_up()
    workload = replace(
        whatif.feed.told.workload,
        chain=np.array([each for row in rows for each in row.ids]),
        chain_start=np.arange(0, 3001, 6),
        identified=np.full(500, 96),
    )
    (whole,) = experiment(workload, "paged", slots=1024).build()
    while whole.step(1 << 60):
        pass
    assert list(lane.engine.results.finish) == list(whole.engine.results.finish)
    assert lane.engine.scheduler.prefix.hits == whole.engine.scheduler.prefix.hits > 0
    assert whatif.feed.forgotten > 400
    assert f"first {whatif.feed.forgotten} requests" in " ".join(whatif.told(0.0))
    assert past.at_time(0).now_ps > picoseconds(300)


# ---- beside a server


@contextmanager
def beside(server: Answers, recording: Recording, *lanes: str) -> Iterator[LiveShow]:
    poller = attach(server.url, interval_s=0.05, timeout_s=0.5)
    whatif = WhatIf(Tail(recording.path), lambda workload: experiment(workload, *lanes))
    session = Session([poller], titles=["server"], start_s=whatif.start_s)
    session.start()
    whatif.start()
    try:
        yield LiveShow(session, Heading("server", label="live + simulated"), beside=whatif)
    finally:
        whatif.close()
        session.close()


async def test_on_the_screen(server: Answers, recording: Recording) -> None:
    server.pages["/metrics"] = vllm_page(running=8, more=CONFIG)
    recording.open(59_000.0)
    recording.row(59_000.0, output=400)
    with beside(server, recording, "contiguous:max", "paged:block_size=32") as show:
        app = KvtuiApp(show, speed=1.0)
        async with app.run_test(size=(120, 36)) as pilot:
            text = await seen(app, pilot, "Paged  sim on A10G, 32-token blocks")
            assert "get the requests of trace.jsonl" in text
            app.main.open_panel("figures")
            text = await seen(app, pilot, "r reported, d derived, s simulated")
            assert "1 s" in text
            await pilot.press("m")
            assert "lanes beside them are chosen with --lane" in await seen(app, pilot, "only watched here")
            app.stage.selection.open(0, 1)
            app.main.rearrange()
            assert "unknown. A server does not publish which requests" in await seen(app, pilot, "Inspector")
            await pilot.press("escape")
            assert [info.label for info in app.stage.lanes] == ["live", "simulated", "simulated"]
            recording.open((time.time() - recording.began) * 1000)
            await pilot.pause(1.5)
            await seen(app, pilot, "s behind, where the oldest request came")
            await pilot.press("space")
            stood = app.stage.scene()
            recording.row(json.loads(recording.path.read_text().splitlines()[-1])["open_ms"])
            for _ in range(100):
                await pilot.pause(0.05)
                scene = app.stage.scene()
                if not any(snapshot.behind_s for snapshot in scene.snapshots):
                    break
            assert scene.time_s == pytest.approx(stood.time_s)
            assert [snapshot.behind_s for snapshot in scene.snapshots] == [0, 0, 0]
            await pilot.press("m")
            assert "beside them are chosen with --lane" in text_of(app)


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (200, 60)])
async def test_every_size(server: Answers, recording: Recording, size: tuple[int, int]) -> None:
    server.pages["/metrics"] = vllm_page(running=8, more=CONFIG)
    with beside(server, recording) as show:
        app = KvtuiApp(show, speed=1.0)
        async with app.run_test(size=size) as pilot:
            for _ in range(8):
                await pilot.press("tab")
                app.main.paint()
            assert "Paged" in text_of(app)


# ---- the command line


def test_once_as_json(server: Answers, recording: Recording) -> None:
    server.pages["/metrics"] = vllm_page(running=8, more=CONFIG)
    server.pages["/v1/models"] = json.dumps({"data": [{"id": "Llama-3.1-8B-Instruct", "max_model_len": 640}]})
    recording.row(1_000.0, output=20)
    recording.open(40_000.0)
    lanes = ("--lane", "contiguous:max", "--lane", "paged:block_size=32")
    done = kvtui("attach", server.url, "--requests", recording.path, *lanes, "--once", "--json")
    assert done.returncode == 0, done.stderr
    live, contiguous, paged = json.loads(done.stdout)["lanes"]
    assert live["backend"]["name"] == "live"
    assert {lane["backend"]["name"] for lane in (contiguous, paged)} == {"simulated"}
    assert paged["requests"]["finished"] == contiguous["requests"]["finished"] == 1
    assert paged["kv"]["pool_tokens"] == live["kv"]["pool_tokens"] == 1600
    assert paged["kv"]["block_size"] == 32
    assert 19 < paged["behind_s"] < 40
    assert set(paged["origin"].values()) == {"simulated"}


def test_plain_says_when_requests_stop_coming(server: Answers, recording: Recording) -> None:
    command = [
        *KVTUI,
        "attach",
        server.url,
        "--plain",
        "--interval",
        "0.05",
        "--requests",
        str(recording.path),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        names = [process.stdout.readline().split()[1] for _ in range(3)]
        assert names[1:] == ["contiguous", "paged"]
        recording.path.unlink()
        assert "cannot be read" in next(line for line in process.stderr if "--requests" in line)
        process.terminate()
        process.communicate()


def test_what_lanes_do_not_get_is_said_once_in_plain_lines(server: Answers, recording: Recording) -> None:
    for at in range(3):
        recording.row(59_000.0 + at, prompt=None)
    done = kvtui("attach", server.url, "--requests", recording.path, "--lane", "paged", "--once")
    assert done.returncode == 0
    assert done.stderr.count("3 requests of trace.jsonl have no known length") == 1
    said: set[tuple[str, float, str]] = set()
    with redirect_stderr(StringIO()) as told:
        for count in (3, 4):
            _say(iter([("--requests", 0.0, f"{count} requests")]), said)
    assert told.getvalue() == "kvtui: --requests: 3 requests\n"


def test_what_lanes_need_is_said(server: Answers, recording: Recording) -> None:
    assert "kvtui record --upstream" in complaint("attach", server.url, "--lane", "paged")
    words = complaint("attach", server.url, "--lane", "vllm-sosp", "--requests", recording.path, "--once")
    assert "not by vllm-sosp" in words
    assert "knows its requests itself" in complaint("attach", "--demo", "--requests", recording.path)


def test_beside_the_server_that_is_simulated_for_show() -> None:
    done = kvtui("attach", "--demo", "--lane", "contiguous:max", "--lane", "paged", "--once")
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == ["demo", "contiguous", "paged"]
