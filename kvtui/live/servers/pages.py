"""What a kind of server is read through, and how to ask for what may be missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from kvtui.live.fetch import FetchError
from kvtui.live.reading import Reading


class Pages(Protocol):
    """Pages of one server; see `fetch.Client`."""

    @property
    def name(self) -> str: ...

    def text(self, path: str) -> str: ...

    def json(self, path: str) -> Any: ...


class Server(Protocol):
    """One server of a known kind."""

    def read(self) -> Reading:
        """Ask it; FetchError where it does not answer."""
        ...


def optional_text(pages: Pages, path: str) -> str:
    """A page, or nothing where the server answers that it has none."""
    try:
        return pages.text(path)
    except FetchError as error:
        if error.status is None or error.status in (401, 403, 503):  # 503: it is not ready yet
            raise
        return ""


def optional_json(pages: Pages, path: str) -> Any:
    """The same for JSON; None where there is none."""
    try:
        return pages.json(path)
    except FetchError as error:
        if error.status in (401, 403):
            raise
        return None


def number(value: object) -> float | None:
    """A finite number out of somebody else's JSON; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer too large for a float
        return None


def text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def rows(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def all_known(values: Iterable[float | None]) -> list[float] | None:
    """The values if none is missing and there is one."""
    known = list(values)
    numbers = [value for value in known if value is not None]
    return numbers if numbers and len(numbers) == len(known) else None
