"""`--plain`, `--once` and `kvtui doctor`: everything there is without a full screen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.run import complaint, kvtui
from tests.tui.pty_run import PtyRun

TRACE = "arrived_at,num_prefill_tokens,num_decode_tokens\n" + "".join(
    f"{at / 10},300,{60 + at % 7}\n" for at in range(120)
)
POOL = ("--blocks", "256", "--max-len", "1024")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plain") / "small.csv"
    path.write_text(TRACE)
    return str(path)


def test_a_line_an_interval_and_the_verdict_at_the_end(trace: str) -> None:
    done = kvtui(trace, *POOL, "--plain", "--every", "2")
    assert done.returncode == 0, done.stderr
    *lines, verdict = done.stdout.splitlines()
    assert len(lines) > 5
    assert [line[:7] for line in lines[:3]] == ["00:02.0", "00:04.0", "00:06.0"]
    counts = re.compile(r"Contiguous: \d+ running, \d+ waiting, \d+ finished.*Paged: \d+ running")
    assert all(counts.search(line) for line in lines)
    assert "Contiguous is full at 4: each request locks 1,024 slots" in done.stdout
    assert "120 finished" in lines[-1]
    assert "requests at once on average" in verdict
    assert "\x1b" not in done.stdout
    assert "S shows" not in done.stdout, "there are no keys here"


def test_a_sentence_is_not_repeated(trace: str) -> None:
    lines = kvtui(trace, *POOL, "--plain", "--every", "1").stdout.splitlines()
    told = [line for line in lines if "Contiguous is full" in line]
    assert 1 <= len(told) < len(lines) / 3


def test_the_language_is_an_option_or_the_locale(trace: str) -> None:
    asked = kvtui(trace, *POOL, "--plain", "--every", "5", "--language", "ja", LC_ALL="C.UTF-8").stdout
    by_locale = kvtui(trace, *POOL, "--plain", "--every", "5", LC_ALL="ja_JP.UTF-8", PYTHONUTF8="1").stdout
    assert "実行中" in asked
    assert asked == by_locale


def test_one_moment(trace: str) -> None:
    line = kvtui(trace, *POOL, "--once", "--until", "6").stdout
    assert line.startswith("00:06.0  Contiguous: ")
    assert line.count("\n") == 1


def test_one_moment_as_data(trace: str) -> None:
    data = json.loads(kvtui(trace, *POOL, "--once", "--json", "--until", "6").stdout)
    assert (data["schema"], data["config"]["until_s"]) == (1, 6)
    for lane in data["lanes"]:
        now = lane["now"]
        assert 5.0 < now["time_s"] <= 6.5
        assert now["done"] is False
        assert now["running"] >= len(now["running_requests"]) > 0
        assert round(sum(now["kv_pct"].values()), 6) == 100
        assert {"time_s", "step", "kind", "request", "a", "b"} == set(now["events"][0])
        assert lane["requests"]["unfinished"] > 0
    first = data["lanes"][0]["now"]
    assert first["waiting"] > 0
    assert first["waiting_requests"][0]["waited_s"] > 0


def test_the_end_as_data_is_the_report_and_more(trace: str) -> None:
    report = json.loads(kvtui(trace, *POOL, "--headless", "--json").stdout)
    data = json.loads(kvtui(trace, *POOL, "--once", "--json").stdout)
    for lane in data["lanes"]:
        assert lane.pop("now")["done"] is True
    assert data == report


def test_ways_that_do_not_go_together(trace: str) -> None:
    assert "--headless and --plain" in complaint(trace, "--headless", "--plain")
    assert "--json goes with" in complaint(trace, "--plain", "--json")


def test_the_doctor_without_a_terminal() -> None:
    said = kvtui("doctor", LC_ALL="ja_JP.UTF-8", TERM="xterm-256color", SSH_CONNECTION="a 1 b 2").stdout
    assert "standard input is not a terminal  -> --headless instead" in said
    assert "256 colours" in said
    assert "over SSH  -> 10 frames a second at most" in said
    assert "LC_ALL=ja_JP.UTF-8  -> Japanese" in said


def test_the_doctor_asks_the_terminal_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    env = {"TERM": "xterm", "COLORTERM": "", "TMUX": "", "STY": "", "SSH_CONNECTION": ""}
    with PtyRun("-m", "kvtui", "doctor", size=(80, 24), env=env, cwd=tmp_path) as run:
        run.read(20.0, until=lambda: run.shows("\x1b[c"))
        answers = ("\x1b[?2026;2$y", "\x1bP>|exactly 1.0\x1b\\", "\x1b]11;rgb:ffff/f0f0/e0e0\x1b\\")
        run.type("".join(answers) + "\x1b[5;1R\x1b[5;9R\x1b[?62c")
        assert run.wait() == 0
        said = run.output.decode()
        assert "exactly 1.0" in said
        assert "80 x 24 cells  -> lanes side by side" in said
        assert "16 colours  -> 16 colours, the terminal's own" in said
        assert "#fff0e0, light" in said
        assert "drawn two cells wide" in said
        assert "shown at once" in said
        assert run.restored()


def test_a_terminal_that_says_nothing_is_not_waited_for_long(tmp_path: Path) -> None:
    with PtyRun("-m", "kvtui", "doctor", size=(50, 12), cwd=tmp_path) as run:
        assert run.wait() == 0
        assert run.shows("50 x 12 cells  -> nothing: too small")
        assert run.restored()
