"""Files of every format, damaged: whatever comes out is a workload or one of the documented errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import TraceError
from kvtui.traces import load
from tests.traces.test_tools import (
    ONE_OF_EACH,
    RAG,
    RUN,
    USAGE,
    agent,
    answer,
    call,
    lines,
    otlp,
    record,
    span,
    spend,
)

RECORDS: list[list[Any]] = [
    [{"conversations": [{"from": "human", "value": "a b"}, {"from": "gpt", "value": "c d"}]}],
    [RUN],
    [record(1_790_000_000_000_000_000), record(1_790_000_000_000_000_007)],
    [agent(call(0, 64, 1), {"t": 2, "type": "subagent", "requests": [call(1, 70, 1)]})],
    [spend(1), spend(2)],
    [answer(1, 40, 5)],
    [otlp(span("a", 1, 5, **USAGE), span("b", 2, 3, "a", **USAGE))],
    [RAG],
    [{"timestamp": 1, "requests": [{"prompt_length": 5, "output_length": 5, "session_id": "a"}]}],
    [
        {
            "session_id": 1,
            "arrival_time_ns": 5,
            "sub_requests": [{"input_toks": 5, "output_toks": 5, "tool_duration_ns": 5}],
        }
    ],
    [
        {"timestamp": 0, "session_id": "a", "input_length": 9, "output_length": 9, "hash_ids": [1]},
        {"delay": 3, "session_id": "a", "input_length": 9, "output_length": 9},
    ],
    [{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2**64 - 1]}],
    [
        {
            "chat_id": 1,
            "parent_chat_id": -1,
            "timestamp": 0.5,
            "input_length": 40,
            "output_length": 5,
            "hash_ids": [1, 2, 3],
        }
    ],
    [
        {
            "schema": "dynamo.request.trace.v1",
            "request": {
                "request_received_ms": 5,
                "input_tokens": 40,
                "output_tokens": 5,
                "replay": {"trace_block_size": 16, "input_sequence_hashes": [1, 2, 3]},
            },
        }
    ],
    [
        {
            "input_tokens_total": 40,
            "output_tokens": 5,
            "timing_events": [{"event_type": "input", "timestamp": "2026-01-01"}],
        }
    ],
    [{"start_time": 1.5, "info": {"input_tokens": 40, "response_metrics": {"output_tokens": 5}}}],
    [
        {
            "benchmarks": [
                {"requests": {"successful": [{"prompt_tokens": 5, "output_tokens": 5, "start_time": 4}]}}
            ]
        }
    ],
    [{"timestamp": 1, "input": "a b", "output": "c", "session_id": "s"}],
    [{"time": 5, "prompt": 40, "output": 5}],
]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 1.5, 2**31, 2**63, 2**64, 10**30, 1e308, float("nan"), float("inf")]),
    st.sampled_from(["", "x", "-5", "1e400", "NaN", "9" * 5000, "2026-13-45T99:99:99Z", "\ud800", "\x00"]),
    st.sampled_from([[], {}, [None], {"": []}, [[[]]], [1, "a", None], {"key": 1}]),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def put(value: Any, path: tuple[Any, ...], odd: Any) -> None:
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = deepcopy(odd)  # strategies hand out the same list again


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "trace"


def loads_or_says_why(file: Path, content: bytes, **options: bool) -> None:
    file.write_bytes(content)
    with suppress(TraceError):
        workload = load(str(file), **options)  # type: ignore[arg-type]
        assert len(workload)
        assert workload.arrival_ns.min() == 0
        assert min(workload.prompt.min(), workload.output.min()) >= 0
        assert len(workload.chain) == workload.chain_start[-1]


@settings(max_examples=400, deadline=None)
@given(data=st.data(), good=st.sampled_from(RECORDS), keep=st.booleans())
def test_values_of_wrong_types(file: Path, data: st.DataObject, good: list[Any], keep: bool) -> None:
    rows = json.loads(json.dumps(good))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(rows)) or [(0,)]))
        with suppress(LookupError, TypeError):
            put(rows, path, data.draw(ODD))
    whole = json.loads(json.dumps(good))
    text = lines(*(rows + whole if data.draw(st.booleans()) else rows))
    loads_or_says_why(file, text.encode(), keep_failed=keep, keep_cached=keep, delta=keep)


@settings(max_examples=200, deadline=None)
@given(
    good=st.sampled_from(sorted(ONE_OF_EACH)), where=st.floats(0, 1), bit=st.integers(0, 7), cut=st.booleans()
)
def test_bits_that_flip_and_files_that_end_early(
    file: Path, good: str, where: float, bit: int, cut: bool
) -> None:
    content = bytearray(ONE_OF_EACH[good]().encode())
    place = int(where * (len(content) - 1))
    content[place] ^= 1 << bit
    loads_or_says_why(file, bytes(content[:place] if cut else content))


@settings(max_examples=100, deadline=None)
@given(first=st.sampled_from(sorted(ONE_OF_EACH)), second=st.sampled_from(sorted(ONE_OF_EACH)))
def test_two_formats_in_one_file(file: Path, first: str, second: str) -> None:
    loads_or_says_why(file, (ONE_OF_EACH[first]() + "\n" + ONE_OF_EACH[second]()).encode())


@pytest.mark.parametrize("size", [1 << 16, 1 << 22])
def test_huge_lines(file: Path, size: int) -> None:
    loads_or_says_why(file, b'{"timestamp": 0, "input_length": ' + b"1" * size + b', "output_length": 1}\n')
    loads_or_says_why(file, b"[" * size)
    loads_or_says_why(file, b"prompt_tokens,output_tokens\n" + b"1" * size + b",1\n5,5\n")
