"""`kvtui attach` without a screen."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.cli.run import KVTUI, complaint, kvtui
from tests.live.fake import Answers, vllm_page


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


def test_a_stranger_is_told_apart(server: Answers) -> None:
    server.pages["/metrics"] = "up 1\n"
    words = complaint("attach", server.url, "--once", KVTUI_TOKEN="hello")
    assert "publishes nothing that vLLM, SGLang" in words
    assert "hello" not in words


def test_looking_once_is_not_recorded(server: Answers, tmp_path: Path) -> None:
    words = complaint("attach", server.url, "--once", "--record", str(tmp_path / "server.kvtui"))
    assert "--once looks once" in words
    assert not list(tmp_path.iterdir())
