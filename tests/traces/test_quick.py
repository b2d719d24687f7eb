"""What is read at once is read as the loaders read it, and what is unusual is left to them."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.traces import Workload, quick, registry
from kvtui.traces.source import open_source

AZURE = ",".join(quick.AZURE)
PLAIN = "arrival_s,prompt_tokens,output_tokens"
ROWS = st.lists(
    st.tuples(st.integers(0, 10**12), st.integers(1, 3000), st.integers(1, 900)), min_size=1, max_size=80
)
HEADERS = (
    PLAIN,
    "arrival,prompt_tokens,output_tokens",
    "output_tokens,arrival_ms,input_length",
    "prefill,decode,arrival_time",
    "arrival_timestamp,prompt_size,token_size",
    "arrival,isl,Response tokens",
    "prompt_tokens , arrival_us,\toutput_tokens ",
)


def same(one: Workload, other: Workload) -> bool:
    pairs = ((getattr(one, field.name), getattr(other, field.name)) for field in fields(Workload))
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


def check(folder: Path, text: str, *, read: bool | None = None) -> None:
    """Compare both ways of reading a file; with `read` also say whether the quick one reads it."""
    path = folder / "trace.csv"
    path.write_bytes(text.encode())
    source = open_source(str(path))
    found = quick.read(source)
    assert read is None or (found is not None) == read
    if found is not None:
        assert same(found, registry.load(source, {}))


def number(billionths: int, digits: int) -> str:
    whole, rest = divmod(billionths, 10**9)
    return f"{whole}.{f'{rest:09}'[:digits]}" if digits else str(whole)


@settings(deadline=None)
@given(ROWS, st.sampled_from(HEADERS), st.integers(0, 9), st.booleans())
def test_numbers(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, int, int]],
    header: str,
    digits: int,
    dense: bool,
) -> None:
    names = header.split(",")
    arrival = next(name for name in names if name.strip().startswith("arrival"))
    times = sorted(row[0] // (10**6 if dense else 1) for row in rows)
    lines = [header]
    for time, (_, prompt, output) in zip(times, rows, strict=True):
        counts = iter((str(prompt), str(output)))
        lines.append(",".join(number(time, digits) if name == arrival else next(counts) for name in names))
    check(tmp_path_factory.mktemp("quick"), "\n".join(lines) + "\n", read=True)


@settings(deadline=None)
@given(ROWS, st.sampled_from((AZURE, PLAIN)), st.sampled_from(("\n", "\r\n")))
def test_dates(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int]], header: str, end: str
) -> None:
    first = datetime(2023, 11, 16, 18)
    lines = [header]
    for at, prompt, output in sorted(rows):
        second, rest = first + timedelta(seconds=at // 10**9), at % 10**9
        lines.append(f"{second}{f'.{rest:09}'[:8] if rest else ''},{prompt},{output}")
    check(tmp_path_factory.mktemp("quick"), end.join(lines) + end, read=True)


@pytest.mark.parametrize(
    "text",
    [
        f"{PLAIN}\n0,5,5\n1,5,5",  # cut off, perhaps
        f"{PLAIN}\n1,5,5\n0,5,5\n",  # not in order
        f"{PLAIN}\n0,5,5\n\n1,5,5\n",
        f"{PLAIN}\n0,5,0\n1,5,5\n",
        f"{PLAIN}\n0,5,5\n1,x,5\n",
        f"{PLAIN}\n0,5,5\n-1,5,5\n",
        f'{PLAIN}\n"0",5,5\n',
        f"{PLAIN}\n0, 5,5\n",
        f"{PLAIN}\n0,5,5\n99999999,5,5\n",
        f"{PLAIN},priority\n0,5,5,1\n",
        f"{PLAIN}\n",
        f"{AZURE}\n2023-02-30 10:00:00,5,5\n2023-03-01 10:00:00,5,5\n2023-03-02 10:00:00,5,5\n",
        f"{AZURE}\n2024-05-10 00:00:00.009930+00:00,5,5\n",
        "startTime,prompt_tokens,completion_tokens\n2023-02-03 10:00:00,5,5\n",
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,5\n",
        "Timestamp,prompt_tokens,Response tokens\n0,5,5\n",
        "prompt_tokens,output_tokens\n5,5\n",
    ],
)
def test_what_is_unusual_is_left_to_the_loaders(tmp_path: Path, text: str) -> None:
    check(tmp_path, text, read=False)


def test_a_large_file_is_left_to_the_loaders(tmp_path: Path) -> None:
    row = "1,100,100\n"
    check(tmp_path, f"{PLAIN}\n" + row * 200, read=True)
    check(tmp_path, f"{PLAIN}\n" + row * (quick.MOST // len(row)), read=False)
