"""A port to which others send something, with aiohttp (extra `attach`)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from kvtui.errors import ConfigError

if TYPE_CHECKING:
    from aiohttp import web

LARGEST: Final = 256 << 20  # bytes of a request


def aiohttp_and_web() -> tuple[Any, Any]:
    try:
        import aiohttp
        from aiohttp import web
    except ImportError:
        raise ConfigError(
            "recording traffic needs the Python package aiohttp", hint="pip install 'kvtui[attach]'"
        ) from None
    return aiohttp, web


@asynccontextmanager
async def listening(
    handle: Callable[[web.Request], Awaitable[web.StreamResponse]], host: str, port: int
) -> AsyncIterator[int]:
    """Let `handle` answer every request; gives the port.

    Raises:
        ConfigError: the extra is not installed, or the port cannot be had.
    """
    _, web = aiohttp_and_web()
    application = web.Application(client_max_size=LARGEST)
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port, backlog=4096).start()
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {host}:{port}: {error.strerror or error}", hint="choose another port"
            ) from None
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
