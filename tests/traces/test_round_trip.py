"""Rows written in each format come back equal, whatever the line ends, the packing and the order."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.traces import Workload, load, table
from kvtui.traces.formats import native


class Row(NamedTuple):
    tick: int  # of the format's own resolution
    prompt: int
    output: int


class Format(NamedTuple):
    resolution_ns: int
    write: Callable[[Sequence[Row]], str]


DAY = datetime(2024, 5, 10)


def azure_2023(rows: Sequence[Row]) -> str:
    lines = [
        f"{DAY + timedelta(microseconds=tick // 10)!s:.19}.{tick % 10**7:07},{p},{o}" for tick, p, o in rows
    ]
    return "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *lines]) + "\n"


def azure_2024(rows: Sequence[Row]) -> str:
    lines = [f"{DAY + timedelta(microseconds=tick)}+00:00,{p},{o}" for tick, p, o in rows]
    return "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *lines]) + "\n"


def multimodal(rows: Sequence[Row]) -> str:
    stamps = [(DAY + timedelta(milliseconds=row.tick)).isoformat(timespec="milliseconds") for row in rows]
    lines = [f"{at}Z,{row.tick % 3},{row.prompt},{row.output}" for at, row in zip(stamps, rows, strict=True)]
    return "\n".join(["TIMESTAMP,NumImages,ContextTokens,GeneratedTokens", *lines]) + "\n"


def burstgpt(rows: Sequence[Row]) -> str:
    lines = [f"{tick},GPT-4,{p},{o},{p + o},API log" for tick, p, o in rows]
    return "\n".join(["Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type", *lines]) + "\n"


def burstgpt_sessions(rows: Sequence[Row]) -> str:
    head = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type"
    lines = [f"{tick}.0,s{tick % 5},2.5,GPT-4,{p},{o},{p + o},Conversation log" for tick, p, o in rows]
    return "\n".join([head, *lines]) + "\n"


def mooncake(rows: Sequence[Row]) -> str:
    found = [
        {"timestamp": tick, "input_length": p, "output_length": o, "hash_ids": list(range(-(-p // 512)))}
        for tick, p, o in rows
    ]
    return "".join(json.dumps(row) + "\n" for row in found)


def bailian(rows: Sequence[Row]) -> str:
    found = [
        {
            "chat_id": number,
            "parent_chat_id": -1,
            "timestamp": tick / 1000,
            "input_length": p,
            "output_length": o,
            "hash_ids": list(range(-(-p // 16))),
        }
        for number, (tick, p, o) in enumerate(rows)
    ]
    return "".join(json.dumps(row) + "\n" for row in found)


def plain_csv(rows: Sequence[Row]) -> str:
    lines = [f'"{o}";{tick // 10**9}.{tick % 10**9:09}; {p}' for tick, p, o in rows]
    return "\n".join(["output_tokens;arrival_s; prompt_tokens", *lines]) + "\n"


def plain_array(rows: Sequence[Row]) -> str:
    return json.dumps(
        [{"start_time_us": tick, "prompt": p, "completion": o} for tick, p, o in rows], indent=1
    )


FORMATS = {
    "azure-2023": Format(100, azure_2023),
    "azure-2024": Format(1_000, azure_2024),
    "azure-multimodal": Format(1_000_000, multimodal),
    "burstgpt": Format(1_000_000_000, burstgpt),
    "burstgpt-sessions": Format(1_000_000_000, burstgpt_sessions),
    "mooncake": Format(1_000_000, mooncake),
    "qwen-bailian": Format(1_000_000, bailian),
    "csv": Format(1, plain_csv),
    "json": Format(1_000, plain_array),
}
COUNTS = st.integers(1, 5_000)
ROWS = st.lists(st.builds(Row, st.integers(0, 5_000_000), COUNTS, COUNTS), min_size=1, max_size=30)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("round_trip") / "trace"


def read(file: Path, content: bytes) -> Workload:
    file.write_bytes(content)
    return load(str(file))


def columns(workload: Workload) -> list[object]:
    chain = [
        workload.unit,
        workload.chain.tolist(),
        workload.chain_start.tolist(),
        workload.identified.tolist(),
    ]
    rows = [workload.arrival_ns.tolist(), workload.prompt.tolist(), workload.output.tolist()]
    return [workload.format, *rows, workload.line.tolist(), *chain]


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=20, deadline=None)
@given(rows=ROWS)
def test_rows_come_back(file: Path, name: str, rows: list[Row]) -> None:
    resolution, write = FORMATS[name]
    workload = read(file, write(rows).encode())
    in_order = sorted(rows, key=lambda row: row.tick)
    assert workload.format == name
    assert workload.arrival_ns.tolist() == [(row.tick - in_order[0].tick) * resolution for row in in_order]
    assert workload.prompt.tolist() == [row.prompt for row in in_order]
    assert workload.output.tolist() == [row.output for row in in_order]
    assert not workload.left_out


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=8, deadline=None)
@given(rows=ROWS)
def test_line_ends_marks_and_packing_change_nothing(file: Path, name: str, rows: list[Row]) -> None:
    content = FORMATS[name].write(rows)
    expected = columns(read(file, content.encode()))
    for other in (
        content.replace("\n", "\r\n").encode(),
        content.encode("utf-8-sig"),
        content.rstrip("\n").encode(),
        gzip.compress(content.encode()),
        gzip.compress(content[:40].encode()) + gzip.compress(content[40:].encode("utf-8")),
    ):
        assert columns(read(file, other)) == expected


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=8, deadline=None)
@given(rows=st.lists(st.integers(0, 5_000_000), min_size=1, max_size=30, unique=True), seed=st.integers())
def test_order_of_rows_changes_nothing(file: Path, name: str, rows: list[int], seed: int) -> None:
    sorted_rows = [Row(tick, 1 + tick % 999, 1 + tick % 77) for tick in sorted(rows)]
    shuffled = random.Random(seed).sample(sorted_rows, len(sorted_rows))
    expected, found = (read(file, FORMATS[name].write(order).encode()) for order in (sorted_rows, shuffled))
    for column in ("arrival_ns", "prompt", "output", "identified"):
        assert getattr(found, column).tolist() == getattr(expected, column).tolist()
    assert found.shared_units.tolist() == expected.shared_units.tolist()


@pytest.mark.parametrize("name", ["azure-2023", "burstgpt-sessions", "csv"])
def test_pieces_of_a_table_fit_together(file: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [Row(tick, 1 + tick % 999, 1 + tick % 77) for tick in range(60)]
    content = FORMATS[name].write(rows).encode()
    whole = columns(read(file, content))
    for size in (1, 50, 700):
        monkeypatch.setattr(table, "PIECE", size)
        assert columns(read(file, content)) == whole


@settings(max_examples=30, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 2**50), COUNTS, st.integers(0, 5000)), min_size=1, max_size=20),
    unit=st.integers(1, 40),
    data=st.data(),
)
def test_own_format_comes_back(
    file: Path, rows: list[tuple[int, int, int]], unit: int, data: st.DataObject
) -> None:
    arrival, prompt, output = (np.array(column, np.int64) for column in zip(*sorted(rows), strict=True))
    identified = np.array([data.draw(st.integers(0, p + o)) for _, p, o in sorted(rows)], np.int64)
    start = np.concatenate(([0], np.cumsum(-(-identified // unit))))
    steps = data.draw(st.lists(st.sampled_from([1, 1, 1, 40]), min_size=1, max_size=99))
    ids = np.cumsum(np.resize(steps, int(start[-1])))
    written = Workload(
        name="ünits",
        format="kvtui",
        arrival_ns=arrival - arrival[0],
        prompt=prompt,
        output=output,
        line=np.arange(2, len(rows) + 2),
        unit=unit,
        chain=ids,
        chain_start=start,
        identified=identified,
        max_len=data.draw(st.none() | st.integers(1, 10**6)),
        slots=data.draw(st.none() | st.integers(1, 10**6)),
    )
    stream = io.StringIO()
    native.write(written, stream, seed=7, about="test")
    found = read(file, stream.getvalue().encode())
    assert columns(found) == columns(written)
    assert (found.name, found.max_len, found.slots) == (written.name, written.max_len, written.slots)
