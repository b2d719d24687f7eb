"""Where KV events cannot come from is told at once."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kvtui.errors import ConfigError
from kvtui.live.endpoints import check_endpoint
from kvtui.live.traffic.tracefile import TraceFile
from tests.cli.run import complaint


@pytest.mark.parametrize(
    ("endpoint", "why"),
    [
        *(
            (text, "tcp://HOST:PORT")
            for text in ("localhost:5557", "http://h:1", "tcp://h", "tcp://:1", "", "tcp://")
        ),
        *((text, "tcp://HOST:PORT") for text in ("tcp://a b:1", "tcp://h:1/x", "tcp://u@h:1", "tcp://h:-1")),
        *((f"tcp://127.0.0.1:{port}", "1 to 65535") for port in (0, 65536, 99999)),
        *((f"ipc://{path}", "folder does not exist") for path in ("", "/no/such/folder/socket")),
    ],
)
def test_what_cannot_be_an_endpoint(endpoint: str, why: str) -> None:
    with pytest.raises(ConfigError, match="is no place for events") as wrong:
        check_endpoint(endpoint)
    assert why in wrong.value.message


def test_a_host_that_nobody_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(host: str, *_: object, **__: object) -> None:
        raise socket.gaierror(-2, f"{host} not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigError, match="nobody knows a host elsewhere"):
        check_endpoint("tcp://elsewhere:5557")


def test_what_can_be_one(tmp_path: Path) -> None:
    for endpoint in ("tcp://127.0.0.1:5557", "tcp://[::1]:65535", f"ipc://{tmp_path}/events", "ipc://@name"):
        check_endpoint(endpoint)


@pytest.mark.parametrize("options", [["--kv-events", "tcp://127.0.0.1:0"], ["--replay", "127.0.0.1:5"]])
def test_recording_from_one_leaves_nothing(options: list[str], tmp_path: Path) -> None:
    target = tmp_path / "t.jsonl"
    given = options if options[0] == "--kv-events" else ["--kv-events", "tcp://127.0.0.1:9", *options]
    assert f"'{options[1]}' is no place for events" in complaint("record", *given, "-o", str(target))
    assert not target.exists()


@pytest.mark.parametrize("name", ["t.csv", "t.CSV", "t.parquet", "t.jsonl.gz"])
def test_a_recording_is_not_named_like_something_else(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a recorded trace is JSON Lines") as wrong:
        TraceFile(tmp_path / name, about="")
    assert str(wrong.value.hint).startswith("name it t.jsonl")
    assert not list(tmp_path.iterdir())
