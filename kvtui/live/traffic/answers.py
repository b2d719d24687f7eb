"""What an answer tells about itself: tokens by its own `usage`, and when its first token came."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

MOST: Final = 16 << 20  # bytes of an answer that is not streamed, or of one event, that are looked at
HELD: Final = 64 << 10  # bytes of an event that may be kept back
_DATA: Final = b"data:"
_TYPE: Final = re.compile(rb'"type"\s*:\s*"response\.([\w.]+)"')  # of an event of the Responses API


class Usage(NamedTuple):
    prompt: int | None = None
    output: int | None = None
    cached: int | None = None


def usage_of(value: object) -> Usage | None:
    """The usage in an answer or an event, in the words of either API."""
    fields = value if isinstance(value, dict) else {}
    usage = fields.get("usage")
    if not isinstance(usage, dict):
        inner = fields.get("response")
        return usage_of(inner) if isinstance(inner, dict) else None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    return Usage(
        _whole(usage, "prompt_tokens", "input_tokens"),
        _whole(usage, "completion_tokens", "output_tokens"),
        _whole(details, "cached_tokens") if isinstance(details, dict) else None,
    )


def _whole(fields: Mapping[str, Any], *names: str) -> int | None:
    value = next((fields[name] for name in names if name in fields), None)
    return value if type(value) is int and value >= 0 else None


class Plain:
    """An answer in one piece."""

    chunks = 0
    began = False  # when its first token was made nobody knows

    def __init__(self) -> None:
        self._body = bytearray()

    def take(self, data: bytes) -> bytes:
        """Some bytes of it; gives what is to be passed on: all."""
        if len(self._body) <= MOST:
            self._body += data
        return data

    def end(self) -> bytes:
        return b""

    @property
    def usage(self) -> Usage | None:
        return usage_of(_json(bytes(self._body))) if len(self._body) <= MOST else None


class Stream:
    """Server-sent events. With `hide_usage` the event that has nothing but the usage is kept back, for it was
    asked for here and not by the client; everything else is passed on as soon as an event is whole."""

    def __init__(self, *, hide_usage: bool) -> None:
        self.usage: Usage | None = None
        self.chunks = 0  # events with a part of the answer, from the first token on
        self.began = False  # whether a token has come
        self._hide = hide_usage
        self._most = HELD if hide_usage else MOST
        self._rest = b""

    def take(self, data: bytes) -> bytes:
        """Some bytes of it; gives what is to be passed on."""
        *events, self._rest = _split(self._rest + data)
        if len(self._rest) > self._most:  # too long for the one that is kept back
            events.append(self._rest)
            self._rest = b""
        kept = [event for event in events if not self._event(event)]
        return b"".join(kept) if self._hide else data

    def end(self) -> bytes:
        """What is left of a stream that breaks off within an event."""
        return self._rest if self._hide else b""

    def _event(self, event: bytes) -> bool:
        """Take note of an event; gives whether it is the one with the usage alone."""
        at = event.find(_DATA)
        if at < 0 or event.startswith(b"data: [DONE]"):
            return False
        alone = False
        if b'"usage"' in event and b'"usage":null' not in event:
            value = _json(event[at + len(_DATA) :])
            self.usage = usage_of(value) or self.usage
            alone = isinstance(value, dict) and value.get("choices") == [] and self.usage is not None
        if not alone:
            self._count(event[at + len(_DATA) :])
        return alone

    def _count(self, data: bytes) -> None:
        """Only deltas have tokens in the Responses API; elsewhere every event from the first token on."""
        if kind := _TYPE.search(data):
            token = kind[1].endswith(b"delta")
        else:
            token = (self.began and b'"error"' not in data) or _generated(_json(data))
        self.began |= token
        self.chunks += token


def _generated(event: object) -> bool:
    """Whether something was generated: the opening of a chat's answer has a role and no content."""
    if not isinstance(event, dict):
        return True
    choices = event.get("choices")
    if not isinstance(choices, list):
        return "error" not in event and event.get("type") != "error"
    return any(_has_token(choice) for choice in choices if isinstance(choice, dict))


def _has_token(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        return True
    return any(value for key, value in delta.items() if key != "role")


def _split(data: bytes) -> list[bytes]:
    """Events with the blank line behind each; last what is not yet whole."""
    blank = b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n\n"
    parts = data.split(blank)
    return [*(part + blank for part in parts[:-1]), parts[-1]]


def _json(data: bytes) -> object:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
