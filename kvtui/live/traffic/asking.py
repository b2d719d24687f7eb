"""What a request to an OpenAI-compatible server asks for, as far as passing it on depends on it.

Read with msgspec (extra `attach`), which skips the prompt: the server waits meanwhile.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final, NamedTuple

from kvtui.live.traffic.packages import msgspec
from kvtui.live.traffic.requests import Request
from kvtui.live.traffic.tracefile import json_object

RECORDED: Final = (b"/completions", b"/chat/completions", b"/responses")  # ends of paths


_MORE: Final = b',"stream_options":{"include_usage":true}}'

Parts = tuple[bytes | memoryview, ...]


class Asked(NamedTuple):
    streams: bool
    asks_usage: bool  # so that its answer has to be asked for its usage, which the client does not expect
    body: Parts  # to send


@cache
def _decoder() -> Any:
    library = msgspec()
    absent = library.UNSET
    return library.json.Decoder(
        library.defstruct("Fields", [("stream", Any, False), ("stream_options", Any, absent)])
    )


def asked(request: Request, *, ask_usage: bool) -> Asked | None:
    """None where it is no request of the kind that is recorded."""
    path = request.path
    if request.method != b"POST" or not path.endswith(RECORDED):
        return None
    fields = _skimmed(request.body)
    if fields is None:
        return None
    streams = bool(fields.stream)
    as_it_is = Asked(streams, False, (request.body,))
    if not (ask_usage and streams) or path.endswith(b"/responses"):
        return as_it_is
    if fields.stream_options is msgspec().UNSET:
        whole = request.body.rstrip()
        return Asked(streams, True, (memoryview(whole)[:-1], _MORE))  # long prompts are not written anew
    options = fields.stream_options or {}
    if not isinstance(options, dict) or options.get("include_usage"):  # if it is none the server complains
        return as_it_is
    body = _rewritten(request.body, options={**options, "include_usage": True})
    return as_it_is if body is None else Asked(streams, True, (body,))


def fields_of(body: bytes) -> dict[str, Any] | None:
    """All that a request says. Python's own reader takes what msgspec does not and servers do: lone halves of
    surrogate pairs, numbers out of range."""
    try:
        return msgspec().json.decode(body, type=dict)  # type: ignore[no-any-return]
    except (ValueError, RecursionError):  # of msgspec too
        return json_object(body.decode("utf-8", "replace"))


def _skimmed(body: bytes) -> Any:
    """The fields on which passing on depends; None where there is no object."""
    decoder = _decoder()
    try:
        return decoder.decode(body)
    except (ValueError, RecursionError):
        fields = fields_of(body)
    if fields is None:
        return None
    return decoder.type(**{key: fields[key] for key in ("stream", "stream_options") if key in fields})


def _rewritten(body: bytes, *, options: dict[str, Any]) -> bytes | None:
    """With other options for its stream; None where it would not be the same otherwise."""
    fields = json_object(body)
    if fields is None:
        return None
    try:
        return json.dumps({**fields, "stream_options": options}, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
