"""A port to which others send requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from kvtui.errors import ConfigError
from kvtui.live.traffic.packages import httptools


@asynccontextmanager
async def listening(make: Callable[[], asyncio.BaseProtocol], host: str, port: int) -> AsyncIterator[int]:
    """Let what `make` makes answer every connection; gives the port.

    Raises:
        ConfigError: the extra is not installed, or the port cannot be had.
    """
    httptools()
    try:
        server = await asyncio.get_running_loop().create_server(make, host, port, backlog=4096)
    except OSError as error:
        raise ConfigError(
            f"cannot listen on {host}:{port}: {error.strerror or error}", hint="choose another port"
        ) from None
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
