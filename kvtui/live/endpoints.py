"""Where KV events can be published: addresses of ZeroMQ, looked at before anybody waits there for ever."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import Final

from kvtui.errors import ConfigError

_TCP: Final = re.compile(r"tcp://(?P<host>\[[^\]/]+\]|[^:/\[\]\s@;]+):(?P<port>\d{1,5})")
_EXAMPLE: Final = "tcp://localhost:5557"


def check_endpoint(endpoint: str) -> None:
    """Raises ConfigError for what is no tcp://HOST:PORT or ipc://PATH, a port that does not exist, a name
    that nobody knows, or a folder that is not there."""
    if endpoint.startswith("ipc://"):
        _check_path(endpoint)
        return
    found = _TCP.fullmatch(endpoint)
    if not found:
        raise _no_place(endpoint, "it has to be tcp://HOST:PORT or ipc://PATH")
    host, port = found["host"].strip("[]"), int(found["port"])
    if not 1 <= port <= 65535:
        raise _no_place(endpoint, "ports are 1 to 65535")
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise _no_place(endpoint, f"nobody knows a host {host}") from None


def _check_path(endpoint: str) -> None:
    path = endpoint.removeprefix("ipc://")
    if path.startswith("@"):  # Linux: a name without a file
        return
    if not path or not Path(path).absolute().parent.is_dir():
        raise _no_place(endpoint, "its folder does not exist")


def _no_place(endpoint: str, why: str) -> ConfigError:
    return ConfigError(f"'{endpoint}' is no place for events: {why}", hint=f"for example {_EXAMPLE}")
