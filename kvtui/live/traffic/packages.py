"""Packages of the extra `attach` that recording needs, imported when asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from kvtui.errors import ConfigError


def httptools() -> Any:
    return _package("httptools")


def msgspec() -> Any:
    return _package("msgspec")


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ConfigError(
            f"recording traffic needs the Python package {name}", hint="pip install 'kvtui[attach]'"
        ) from None
