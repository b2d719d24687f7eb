"""What a recorded line says, without any network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.live.traffic.answers import Plain, Stream, Usage
from kvtui.live.traffic.identity import UNIT, Prefixes, runs
from kvtui.live.traffic.tracefile import Exchange, TraceFile
from kvtui.traces import load

CHAT = [
    b'data: {"choices":[{"delta":{"role":"assistant","content":""}}],"usage":null}\n\n',
    b'data: {"choices":[{"delta":{"content":"Hi"}}],"usage":null}\n\n',
    b'data: {"choices":[{"delta":{"content":"!"}}]}\n\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":40,"completion_tokens":2,'
    b'"prompt_tokens_details":{"cached_tokens":16}}}\n\n',
    b"data: [DONE]\n\n",
]


@given(st.lists(st.integers(1, 60), max_size=30))
def test_a_stream_cut_anywhere_is_passed_on_whole_but_for_the_usage(cuts: list[int]) -> None:
    data, at, passed = b"".join(CHAT), 0, b""
    stream = Stream(hide_usage=True)
    for cut in [*cuts, len(data)]:
        passed += stream.take(data[at : at + cut])
        at += cut
    passed += stream.end()
    assert passed == b"".join([*CHAT[:3], CHAT[4]])
    assert stream.usage == Usage(40, 2, 16)
    assert stream.chunks == 2


def test_the_first_token_is_not_the_opening_of_the_answer() -> None:
    stream = Stream(hide_usage=False)
    assert stream.take(CHAT[0]) == CHAT[0]
    assert not stream.began
    stream.take(CHAT[1])
    assert stream.began


@pytest.mark.parametrize(
    ("delta", "began"),
    [
        ({"role": "assistant", "content": None}, False),
        ({"role": "assistant", "content": None, "reasoning_content": None, "tool_calls": []}, False),
        ({"content": None, "reasoning_content": "Hm"}, True),
        ({"content": None, "tool_calls": [{"index": 0, "function": {"name": "f"}}]}, True),
        ({"content": ""}, False),
        ({"content": "Hi"}, True),
    ],
)
def test_the_first_token_is_the_first_thing_generated(delta: dict[str, object], began: bool) -> None:
    stream = Stream(hide_usage=False)
    stream.take(b"data: " + json.dumps({"choices": [{"delta": delta}]}).encode() + b"\n\n")
    assert (stream.began, stream.chunks) == (began, int(began))


@pytest.mark.parametrize(
    ("event", "chunks"),
    [
        ({"error": {"message": "no"}}, 1),
        ({"type": "error", "code": None, "message": "no"}, 1),
        ({"choices": [{"delta": {"content": 'an "error"'}}], "error": None}, 2),
    ],
)
def test_an_error_in_the_middle_is_no_token(event: dict[str, object], chunks: int) -> None:
    stream = Stream(hide_usage=False)
    stream.take(CHAT[1] + b"data: " + json.dumps(event).encode() + b"\n\n")
    assert (stream.began, stream.chunks) == (True, chunks)


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_only_deltas_are_tokens_of_a_response(separators: tuple[str, str]) -> None:
    usage = {"input_tokens": 5, "output_tokens": 2}
    kinds = ["created", "in_progress", "output_item.added", "output_text.delta", "output_text.delta"]
    began = []
    stream = Stream(hide_usage=False)
    for kind in [*kinds, "output_text.done", "completed"]:
        event = {"type": f"response.{kind}", "response": {"usage": usage if kind == "completed" else None}}
        data = json.dumps(event, separators=separators)
        stream.take(f"event: response.{kind}\ndata: {data}\n\n".encode())
        began.append(stream.began)
    assert began == [False] * 3 + [True] * 4
    assert (stream.chunks, stream.usage) == (2, Usage(5, 2, None))


def test_a_usage_that_the_client_asked_for_is_passed_on() -> None:
    stream = Stream(hide_usage=False)
    assert stream.take(CHAT[3]) == CHAT[3]
    assert stream.usage == Usage(40, 2, 16)


def test_the_other_api_counts_in_other_words() -> None:
    plain = Plain()
    body = {"usage": {"input_tokens": 5, "output_tokens": 6, "input_tokens_details": {"cached_tokens": 1}}}
    plain.take(json.dumps(body).encode())
    assert plain.usage == Usage(5, 6, 1)


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"usage": 3}', b'{"usage": {"prompt_tokens": "x"}}'])
def test_an_answer_without_a_usage(body: bytes) -> None:
    plain = Plain()
    assert plain.take(body) == body
    assert plain.usage in (None, Usage())


def test_prompts_that_begin_alike() -> None:
    prefixes = Prefixes(characters=4)
    system = "You are a careful assistant. " * 10
    first, second = (
        list(prefixes.units({"messages": [{"role": "system", "content": system}, last]}))
        for last in ({"role": "user", "content": word * 100} for word in ("one", "two"))
    )
    alike = sum(a == b for a, b in zip(first, second, strict=False))
    assert alike == len("system\x00" + system) // (4 * UNIT)
    assert not set(first[alike:]) & set(second[alike:])


def test_token_ids_are_taken_exactly() -> None:
    prefixes = Prefixes()
    first = list(prefixes.units({"prompt": [7] * 40}))
    second = list(prefixes.units({"prompt": [7] * 16 + [8] * 30}))
    assert (len(first), len(second)) == (2, 2)
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_the_same_text_elsewhere_is_another_prefix() -> None:
    first, second, *_ = Prefixes().units({"prompt": "x" * 64 * 2})
    assert first != second


def test_names_say_nothing_and_differ_from_run_to_run() -> None:
    assert Prefixes().secret("me@example.com") != Prefixes().secret("me@example.com")
    prefixes = Prefixes()
    assert prefixes.secret("a") == prefixes.secret("a") != prefixes.secret("b")


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # texts are slow to make on a busy machine
@given(st.dictionaries(st.sampled_from(["prompt", "messages", "tools", "input"]), JSON))
def test_any_request_has_units(body: dict[str, object]) -> None:
    assert all(unit >= 0 for unit in Prefixes().units(body))


@given(st.lists(st.integers(0, 50)))
def test_runs_say_the_same(ids: list[int]) -> None:
    assert [first + at for first, count in runs(ids) for at in range(count)] == ids


def test_what_is_written_opens_as_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    trace = TraceFile(path, about="")
    trace.add(Exchange(0.5, [0, 1, 5], usage=Usage(50, 9), first_s=0.6, end_s=1.0, session="s"))
    trace.add(Exchange(0.25, [0, 1, 7], usage=Usage(33, 4)))
    trace.add(Exchange(0.75, [2], status=502, aborted=True))
    trace.close()
    workload = load(str(path))
    assert workload.prompt.tolist() == [33, 50]
    assert workload.output.tolist() == [4, 9]
    assert workload.arrival_ns.tolist() == [0, 250_000_000]
    assert workload.identified.tolist() == [32, 48]
    assert workload.chain.tolist()[:2] == workload.chain.tolist()[2:4]
    assert sum(left.count for left in workload.left_out) == 1


def test_a_file_is_never_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="exists and is not overwritten"):
        TraceFile(path, about="")
    assert path.read_text() == "mine"
    trace = TraceFile(path, about="", force=True)
    assert path.read_text() == "mine"
    trace.begin()
    trace.close()
    assert path.read_text().startswith('{"kvtui_workload":1')


def test_a_full_disk_ends_the_trace_and_nothing_else() -> None:
    trace = TraceFile(Path("/dev/full"), about="", force=True)
    trace.add(Exchange(0.0, []))
    assert trace.problem == "No space left on device"
