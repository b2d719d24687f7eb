"""The server that answers: how to get to it."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Final
from urllib.parse import urlsplit

PATIENCE_S: Final = 30.0  # for a connection
KNOWN_S: Final = 10.0  # for which a name is not looked up again


class Upstream:
    """At a URL. It is asked for as often as there are clients, and its name not so often."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._name = parts.hostname
        self.secret = parts.scheme == "https"
        self._port = parts.port or (443 if self.secret else 80)
        self._tls = ssl.create_default_context() if self.secret else None
        self._address, self._until = self._name, 0.0
        self.host = parts.netloc.encode()
        self.base = parts.path.rstrip("/").encode()

    async def connect(self, protocol: asyncio.BufferedProtocol) -> None:
        """Raises OSError where that fails or takes too long."""
        known = self._address if time.monotonic() < self._until else self._name
        async with asyncio.timeout(PATIENCE_S):
            transport, _ = await asyncio.get_running_loop().create_connection(
                lambda: protocol,
                known,
                self._port,
                ssl=self._tls,
                server_hostname=None if self._tls is None else self._name,
            )
        if known is self._name:
            self._address = transport.get_extra_info("peername")[0]
            self._until = time.monotonic() + KNOWN_S
