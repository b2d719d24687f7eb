"""`kvtui attach` without a screen."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from kvtui.live.poll import attach
from kvtui.live.report import stale
from kvtui.live.session import Session
from tests.cli.run import KVTUI, complaint, kvtui
from tests.live.fake import Answers, vllm_page
from tests.live.test_screen import CONFIG


def test_once_as_json(server: Answers) -> None:
    done = kvtui("attach", server.url, "--once", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["schema"] == 1
    (lane,) = report["lanes"]
    assert lane["requests"]["running"] == 2
    assert lane["requests"]["waiting"] == 1
    assert lane["requests"]["rejected"] is None
    assert lane["kv"]["usage"] == 0.547
    assert lane["kv"]["blocks"] is None
    assert lane["server"]["kind"] == "vllm"


def test_once_as_a_line(server: Answers) -> None:
    done = kvtui("attach", server.url.removeprefix("http://"), "--once")
    assert done.returncode == 0, done.stderr
    assert "vllm m  running 2  waiting 1  KV 54.7%  tokens/s n/a  TTFT p50 n/a" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_plain_goes_on_and_says_what_happens(server: Answers) -> None:
    command = [*KVTUI, "attach", server.url, "--plain", "--interval", "0.05"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "running 2" in process.stdout.readline()
        server.pages["/metrics"] = vllm_page(tokens=10, running=0)
        assert any("tokens/s 0" in line for line in process.stdout)
        server.pages["/metrics"] = 503
        assert any("stale for" in line for line in process.stdout)
        process.terminate()
        errors = process.communicate()[1]
    assert "server restarted" in errors
    assert "answers 503" in errors


def test_what_cannot_be_attached() -> None:
    assert "cannot be reached: Connection refused" in complaint("attach", "127.0.0.1:9", "--once")
    assert "--json goes with" in complaint("attach", "http://x", "--json")
    assert "5 servers are more than the 4" in complaint("attach", *"abcde")


def test_a_server_that_is_down_at_the_start_is_waited_for(server: Answers) -> None:
    gone = "127.0.0.1:9"  # nobody's
    done = kvtui("attach", gone, server.url, "--once", "--json")
    assert done.returncode == 0, done.stderr
    down, up = json.loads(done.stdout)["lanes"]
    assert (down["requests"]["running"], down["server"]["kind"]) == (None, None)
    assert "cannot be reached" in down["server"]["problem"]
    assert up["requests"]["running"] == 2
    assert "none of the 2 servers answers" in complaint("attach", gone, gone, "--once")
    lanes = ("--lane", "paged", "--requests", "t.jsonl")
    assert "cannot be reached" in complaint("attach", gone, server.url, *lanes)


def test_a_server_that_comes_up_is_watched_from_then_on(server: Answers) -> None:
    server.pages["/metrics"] = 503
    poller = attach(server.url, interval_s=0.01, patient=True)
    assert stale(poller.last) == f"down, no answer yet: {server.url}/metrics answers 503 Service Unavailable"
    session = Session([poller], titles=["a"])
    assert session.tapes[0].info.subtitle == "no answer yet"
    server.pages["/metrics"] = vllm_page(more=CONFIG)
    session.start()
    until = time.monotonic() + 10
    while session.tapes[0].info.subtitle != "vllm, 100 blocks of 16" and time.monotonic() < until:
        time.sleep(0.01)
    session.close()
    seen = session.tapes[0].seen(session.tapes[0].newest)
    assert seen.info.blocks == 100
    assert seen.snapshot.reading.running.value == 2
    assert [mark.what for mark in seen.snapshot.marks][-1] == "answers"


def test_a_stranger_is_told_apart(server: Answers) -> None:
    server.pages["/metrics"] = "up 1\n"
    words = complaint("attach", server.url, "--once", KVTUI_TOKEN="hello")
    assert "publishes nothing that vLLM, SGLang" in words
    assert "hello" not in words


def test_looking_once_is_not_recorded(server: Answers, tmp_path: Path) -> None:
    words = complaint("attach", server.url, "--once", "--record", str(tmp_path / "server.kvtui"))
    assert "--once looks once" in words
    assert not list(tmp_path.iterdir())
