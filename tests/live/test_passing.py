"""Requests and answers taken apart and put together again, wherever they are cut; without any network."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.live.traffic import requests
from kvtui.live.traffic.heads import request_head

pytest.importorskip("httptools")
pytest.importorskip("msgspec")
from kvtui.live.traffic.asking import asked, fields_of
from kvtui.live.traffic.passing import Answer
from kvtui.live.traffic.requests import Reader, Request

CUTS = st.lists(st.integers(1, 80), max_size=12)
OK = b"HTTP/1.1 200 OK\r\n"


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    parts, at = [], 0
    for size in [*cuts, len(data)]:
        parts.append(data[at : at + size])
        at += size
    return [part for part in parts if part]


def request(method: bytes = b"POST", *, chunks: bool = True, body: bytes = b"", **more: Any) -> Request:
    headers = more.pop("headers", [])
    return Request(method, more.pop("target", b"/x"), headers, body, chunks, chunks, 0.0)


def answered(data: bytes, cuts: list[int], asking: Request | None = None) -> tuple[bytes, Answer]:
    answer = Answer(asking or request(), None)
    return b"".join(map(answer.take, cut(data, cuts))), answer


@given(CUTS)
def test_requests_that_follow_each_other(cuts: list[int]) -> None:
    first = b"POST /v1/completions?a=%2F HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nContent-Length: 3\r\n\r\nabc"
    second = b"POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\nX-T: 1\r\n\r\n"
    third = b"GET /c HTTP/1.1\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nGET /d HTTP/1.0\r\n\r\n"
    reader = Reader()
    found = [each for part in cut(first + second + third, cuts) for each in reader.take(part)]
    assert [(each.target, each.body) for each in found] == [
        (b"/v1/completions?a=%2F", b"abc"),
        (b"/b", b"def"),
        (b"/c", b""),
        (b"/d", b""),
    ]
    (proxied,) = Reader().take(b"GET http://h:1/a/b?c HTTP/1.1\r\n\r\n")
    assert proxied.target == b"/a/b?c"
    assert [each.stays for each in found] == [True, True, True, False]
    assert (b"X-T", b"1") not in found[1].headers


@pytest.mark.parametrize("word", [b"100-continue", b"100-Continue"])
def test_who_waits_for_a_word_before_the_body(word: bytes) -> None:
    reader = Reader()
    reader.take(b"POST / HTTP/1.1\r\nExpect: " + word + b"\r\nContent-Length: 2\r\n\r\n")
    assert reader.encourage
    assert [each.body for each in reader.take(b"ab")] == [b"ab"]
    assert not reader.encourage


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/9\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\n\r\n",
    ],
)
def test_what_is_no_request_is_refused(data: bytes) -> None:
    reader = Reader()
    assert reader.take(data) == []
    assert reader.refused is not None


@pytest.mark.parametrize("data", [b"\x00\xffnonsense\r\n", b"OPTIONS * HTTP/1.1\r\n\r\n"])
def test_what_came_before_nonsense_is_a_request_and_what_comes_after_is_none(data: bytes) -> None:
    whole = b"GET /a HTTP/1.1\r\n\r\n"
    reader = Reader()
    assert [each.target for each in reader.take(whole + data + whole)] == [b"/a"]
    assert reader.refused is not None
    assert reader.refused.status == 400
    assert reader.take(whole) == []


def test_requests_for_another_protocol_follow_each_other() -> None:
    data = b"GET /a HTTP/1.1\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n" * 2000
    assert len(Reader().take(data)) == 2000


def test_a_request_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LARGEST", 1000)
    reader = Reader()
    reader.take(b"GET / HTTP/1.1\r\nX: " + b"x" * 900)
    reader.take(b"x" * 100)
    assert reader.refused is not None
    assert (reader.refused.status, "is not passed on" in reader.refused.message) == (413, True)
    packed = gzip.compress(b"0" * 5000)
    head = b"POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    (bomb,) = Reader().take(head + packed)
    assert bomb.body == packed


def test_what_is_about_one_connection_is_not_sent_on() -> None:
    headers = [
        *((b"Connection", b"keep-alive, X-Hop"), (b"X-Hop", b"1"), (b"X-Far", b"2"), (b"Host", b"me")),
        *((b"Accept-Encoding", b"br"), (b"Authorization", b"Bearer t"), (b"TE", b"trailers")),
    ]
    head = request_head(request(headers=headers), 0, host=b"there:1", base=b"/base")
    assert head == (
        b"POST /base/x HTTP/1.1\r\nHost: there:1\r\nX-Far: 2\r\nAuthorization: Bearer t\r\n"
        b"Accept-Encoding: identity\r\nContent-Length: 0\r\n\r\n"
    )


@given(CUTS)
def test_an_answer_in_chunks(cuts: list[int]) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    data = (
        OK
        + b"Transfer-Encoding: chunked\r\nX-A: 1\r\nKeep-Alive: 5\r\n\r\n"
        + b"3\r\nabc\r\n2;e=1\r\nde\r\n0\r\nX-T: 1\r\n\r\n"
    )
    passed, answer = answered(early + data, cuts)
    head, _, body = passed.partition(b"\r\n\r\n")
    assert head == OK + b"X-A: 1\r\nTransfer-Encoding: chunked"
    assert answer.whole
    assert not answer.last
    again, copy = answered(passed, [])
    assert (again, copy.whole) == (
        OK + b"X-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n",
        True,
    )
    assert b"".join(body.split(b"\r\n")[1::2]) == b"abcde"


@given(CUTS)
def test_an_answer_of_known_length(cuts: list[int]) -> None:
    data = OK + b"Set-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 5\r\n\r\nabcde"
    passed, answer = answered(data, cuts)
    assert passed == data
    assert answer.whole


def test_an_answer_that_ends_with_its_connection() -> None:
    passed, answer = answered(OK + b"\r\nabc", [])
    assert passed == OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    assert not answer.whole
    assert answer.broken() == b"0\r\n\r\n"
    assert (answer.whole, answer.last) == (True, True)
    older, answer = answered(b"HTTP/1.0 200 OK\r\n\r\nabc", [], request(chunks=False))
    assert older == OK + b"Connection: close\r\n\r\nabc"
    assert answer.broken() == b""


def test_an_answer_that_breaks_off() -> None:
    _, answer = answered(OK + b"Content-Length: 9\r\n\r\nabc", [])
    assert answer.broken() is None
    _, answer = answered(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nabc", [])
    assert answer.broken() is None
    assert answered(b"", [])[1].broken() is None


@pytest.mark.parametrize(
    ("method", "start"),
    [
        (b"HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
        (b"GET", b"HTTP/1.1 304 Not Modified\r\n\r\n"),
    ],
)
def test_an_answer_without_a_body(method: bytes, start: bytes) -> None:
    passed, answer = answered(start, [], request(method))
    assert passed == start
    assert answer.whole


@pytest.mark.parametrize("options", [b"", b'"stream_options": null, ', b'"stream_options": {"a": 1},'])
@pytest.mark.parametrize("before", [b"", b'"tools": [{"stream": false, "x": "\\"stream\\": 0"}], '])
def test_the_usage_is_asked_for_without_another_change(options: bytes, before: bytes) -> None:
    body = b"{" + before + options + b'"prompt": "n\xc3\xa9 {\\"}", "stream": true }\n'
    found = asked(request(body=body, target=b"/v1/completions?x"), ask_usage=True)
    assert found is not None
    fields = json.loads(body)
    wanted = {**(fields.get("stream_options") or {}), "include_usage": True}
    assert json.loads(b"".join(found.body)) == fields | {"stream_options": wanted}
    assert found.asks_usage


@pytest.mark.parametrize(
    "body",
    [
        b'{"prompt": "\\"stream\\": true"}',
        b'{"tools": [{"stream": true}]}',
        b'{"stream": true, "stream_options": {"include_usage": true}}',
        b'{"stream": true, "stream_options": 7}',
        b'{"stream": true, "stream_options": {}, "prompt": "\xff\xfe"}',
        b'{"stream": true, "stream_options": {}, "temperature": 1e999}',
    ],
)
def test_who_needs_no_asking_is_left_alone(body: bytes) -> None:
    found = asked(request(body=body, target=b"/v1/completions"), ask_usage=True)
    assert found is not None
    assert (found.body, found.asks_usage) == ((body,), False)


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff", b'{"stream": tru}', b"[" * 100_000])
def test_what_cannot_be_read_is_passed_on_unrecorded(body: bytes) -> None:
    assert asked(request(body=body, target=b"/v1/completions"), ask_usage=True) is None


@pytest.mark.parametrize(
    "odd", [b'"prompt": "\\ud83d"', b'"temperature": 1e999', b'"prompt": "\xff"', b'"n": NaN']
)
def test_what_only_some_can_read_is_recorded_and_asked_for_its_usage(odd: bytes) -> None:
    body = b'{"stream": true, %b}' % odd
    found = asked(request(body=body, target=b"/v1/completions"), ask_usage=True)
    assert found is not None
    assert found.asks_usage
    assert b"".join(found.body) == body[:-1] + b',"stream_options":{"include_usage":true}}'
    assert fields_of(body)["stream"] is True  # type: ignore[index]


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"[" * 100_000, '{"a": 1}'.encode("utf-16")])
def test_what_is_no_object_has_no_fields(body: bytes) -> None:
    assert fields_of(body) is None


def test_behind_a_whole_answer_nothing_matters() -> None:
    whole = OK + b"Content-Length: 2\r\n\r\nok"
    passed, answer = answered(whole + b"nonsense", [])
    assert passed == whole
    assert (answer.whole, answer.last) == (True, True)
