"""The simulation against what was measured: exact where both are known, and errors as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvtui.comparison.heading import Heading
from kvtui.errors import RecordingError
from kvtui.live.check import Figure, compare, render
from kvtui.live.filming import LiveFilming
from kvtui.live.frames import Film, info_of
from kvtui.live.session import Seen
from kvtui.live.watch import Watch
from kvtui.recording import Recording
from kvtui.tui.app import KvtuiApp
from kvtui.tui.beside import Beside
from tests.cli.run import kvtui
from tests.live.test_screen import seen
from tests.live.test_watch import page
from tests.recording.films import filmed
from tests.tui.stagecraft import small

LOOKS = [  # time, running, share of the memory, output tokens so far
    (0.0, 0, 0.0, 100),
    (1.0, 4, 0.5, 100),
    (3.0, 8, 1.0, 300),
    (4.0, 0, 0.0, 400),
]
LANE = {
    "batch": {"mean": 5.0, "peak": 8},
    "kv": {"free_pct": 20.0, "cached_pct": 10.0},
    "requests": {"preemptions": 3},
    "latency": {"ttft_s": {"mean": 0.3, "p50": 0.1, "p99": None}},
    "output_tokens": 300,
    "busy_s": 2.0,
}


@pytest.fixture(name="recording")
def recorded(tmp_path: Path) -> Recording:
    config = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="101"} 1\n'
    readings = [page(running=r, usage=u, tokens=t, more=config) for _, r, u, t in LOOKS]
    watch = Watch("s", readings[0], 0.0)
    first = watch.snapshot(0.0)
    film, info = Film(first), info_of(first, title="s")
    filming = LiveFilming(tmp_path / "s.kvtui", Heading("s", label="live"), [info], {"trace": None})
    for (now, *_), reading in zip(LOOKS, readings, strict=True):
        snapshot = watch.take(reading, now)
        filming.take(0, Seen(round(now * 1e12), film.look(snapshot, now), snapshot, info))
    filming.finish({"trace": None})
    return Recording(tmp_path / "s.kvtui")


def test_only_the_time_counts_in_which_something_ran(recording: Recording, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    rows = [{"kvtui_workload": 1}, *({"prompt": 9, "ttft_ms": t} for t in (100.0, 300.0, None))]
    rows += [{"prompt": 9, "ttft_ms": 9e9, "status": 500}, {"prompt": 9, "ttft_ms": 9e9, "aborted": True}]
    rows += [{"prompt": None, "ttft_ms": 9e9}]
    trace.write_text("\n".join(map(json.dumps, rows)))
    figures = {figure.name: figure for figure in compare(recording, trace, LANE)}
    batch = figures["batch, mean"]
    assert (batch.measured, batch.simulated) == (pytest.approx(16 / 3), 5.0)  # 2 s of 4, 1 s of 8
    assert batch.error == pytest.approx(-6.25)
    assert figures["batch, peak"].error == 0
    assert figures["KV in use %, mean"][1:] == (pytest.approx(200 / 3), 70.0)
    assert figures["output tokens/s"][1:] == (pytest.approx(100), 150)
    assert figures["TTFT s, mean"][1:] == (0.2, 0.3)
    assert figures["TTFT s, p99"].error is None
    assert figures["preemptions"].measured is None  # this server does not count them


def test_what_is_unknown_is_no_error_of_nothing() -> None:
    text = render([Figure("x", None, 3.0), Figure("y", 0.0, 1.0), Figure("z", 2.0, 1.0)], name="paged")
    rows = [line.split() for line in text.splitlines()]
    assert rows[1] == ["x", "n/a", "3.000", "n/a"]
    assert rows[2] == ["y", "0.000", "1.000", "n/a"]
    assert rows[3] == ["z", "2.000", "1.000", "-50.0%"]


def test_the_command(recording: Recording, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    rows = [
        {"kvtui_workload": 1, "name": "t", "unit": 16},
        *({"at_ms": 10.0 * n, "prompt": 100, "output": 20, "ttft_ms": 50.0} for n in range(20)),
    ]
    trace.write_text("\n".join(map(json.dumps, rows)) + "\n")
    command = ["check", str(trace), "--measured", str(recording.path), "--lane", "paged", "--blocks", "100"]
    done = kvtui(*command, "--json")
    assert done.returncode == 0, done.stderr
    figures = {row["name"]: row for row in json.loads(done.stdout)["figures"]}
    assert figures["TTFT s, p50"]["measured"] == 0.05
    assert figures["batch, mean"]["error_pct"] == pytest.approx(
        100 * (figures["batch, mean"]["simulated"] / (16 / 3) - 1)
    )


def test_a_replay_without_a_screen_says_what_was_seen(recording: Recording) -> None:
    done = kvtui("replay", str(recording.path), "--headless")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "s (vllm, 100 blocks of 16): 4 looks in 4.0 s  mean batch 4.0  peak batch 8  preempted n/a"
        "  finished 10  output tokens 400\n"
    )


def test_a_recording_of_a_simulation_is_nothing_measured(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="is no recording of a server"):
        compare(Recording(filmed()), tmp_path / "none", LANE)


async def test_the_server_beside_the_simulation(recording: Recording) -> None:
    app = KvtuiApp(Beside(recording, small("paged", requests=20)), speed=float("inf"))
    async with app.run_test(size=(120, 36)) as pilot:
        text = await seen(app, pilot, "ENDED")
        assert "s is what the server did" in text
        server, simulated = app.stage.scene().frames
        assert server.counters.running == 0
        assert server.time_s == 4.0  # the look before the first request is its beginning
        assert simulated.counters.finished == 20
        for key in ("m", "S", "tab", "tab", "tab", "tab", "home"):
            await pilot.press(key)
        assert app.stage.scene().frames[0].counters.running == 0
        app.stage.go_to(1.5)
        assert app.stage.scene().frames[0].counters.running == 4
        assert app.stage.scene().frames[0].batch == ((0.0, 0), (1.0, 4))
