"""Packages of the extra `attach` that recording needs, imported when asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from kvtui.errors import ConfigError


def httptools() -> Any:
    return _package("httptools")


def msgspec() -> Any:
    return _package("msgspec")


def loops() -> Callable[[], asyncio.AbstractEventLoop]:
    """What makes the loop that passes traffic on: the faster one where there is one (not on Windows)."""
    try:
        uvloop: Any = import_module("uvloop")
    except ImportError:
        return asyncio.new_event_loop
    return uvloop.new_event_loop  # type: ignore[no-any-return]


@cache
def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ConfigError(
            f"recording traffic needs the Python package {name}", hint="pip install 'kvtui[attach]'"
        ) from None
