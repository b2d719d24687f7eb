"""Directories: many files as one trace."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kvtui.errors import TraceError
from kvtui.traces import load
from kvtui.traces.info import hit_rate_ceiling, info, render
from tests.traces.test_tools import agent, call

CSV = "arrival_s,prompt_tokens,output_tokens\n"
S = 10**9


def write(folder: Path, **files: str) -> str:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return str(folder)


def test_users_of_a_directory_begin_together(tmp_path: Path) -> None:
    one, two = (
        json.dumps(agent(call(0, 128, 1, 2), call(5, 128, 1, 2))),
        json.dumps(agent(call(3, 128, 1, 2))),
    )
    where = write(tmp_path / "users", a=one, b=two)
    workload = load(where)
    assert (workload.name, workload.format) == ("users", "kv-cache-tester")
    assert workload.arrival_ns.tolist() == [0, 3 * S, 5 * S]
    assert hit_rate_ceiling(workload) == 128 / 384  # the same ids in another file are other blocks
    assert workload.assumed[0] == "2 files read as one trace, block ids of each its own"
    assert workload.sha256 == load(where).sha256


def test_parts_of_one_clock_follow_each_other(tmp_path: Path) -> None:
    where = write(
        tmp_path / "days",
        **{"1": CSV + "2026-01-02 00:00:00,1,1\n", "2": CSV + "2026-01-01 00:00:00,2,1\n"},
    )
    (tmp_path / "days" / "3.csv.gz").write_bytes(gzip.compress((CSV + "2026-01-01 12:00:00,3,1\n").encode()))
    workload = load(where)
    assert workload.prompt.tolist() == [2, 3, 1]
    assert workload.arrival_ns.tolist() == [0, 43_200 * S, 86_400 * S]


def test_other_files_are_named_and_hidden_ones_ignored(tmp_path: Path) -> None:
    where = write(tmp_path / "mixed", a=CSV + "0,1,1\nx,1,1\n1,1,1\n", LICENSE="free\n", **{".b": CSV})
    (tmp_path / "mixed" / "deep").mkdir()
    (tmp_path / "mixed" / "deep" / "c").write_text(CSV + "5,7,1\n1,1,1\ny,1,1\n")
    workload = load(where)
    assert sorted(workload.prompt.tolist()) == [1, 1, 1, 7]
    assert "1 file that cannot be read as a trace left out: LICENSE" in workload.assumed
    assert "2 rows left out: no readable arrival_s (in several files)" in render(info(workload))


def test_options_hold_for_the_whole(tmp_path: Path) -> None:
    where = write(tmp_path / "two", a=CSV + "0,1,1\n4,3,1\n", b=CSV + "0,2,1\n6,4,0\n")
    assert load(where).prompt.tolist() == [1, 2, 3]
    assert load(where, keep_failed=True).prompt.tolist() == [1, 2, 3, 4]
    assert load(where, skip=1, limit=1).prompt.tolist() == [2]
    assert load(where, rate=1).arrival_ns.tolist() == [0, S, 2 * S]


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "it is empty"),
        ({"LICENSE": "free\n"}, "none of its 1 file can be read as a trace"),
        (
            {"a": CSV + "0,1,1\n", "b": json.dumps(agent(call(0, 64, 1)))},
            "mixes formats: csv, kv-cache-tester",
        ),
        ({"a": CSV + "0,1,1\n", "b": CSV + "2026-01-01 00:00:00,1,1\n"}, "some files count from 1970"),
        (
            {"a": json.dumps(agent(call(0, 64, 1))), "b": json.dumps(agent(call(0, 64, 1), block_size=32))},
            "blocks of different sizes: 32, 64 tokens",
        ),
    ],
)
def test_directories_that_are_no_trace(tmp_path: Path, files: dict[str, str], says: str) -> None:
    with pytest.raises(TraceError, match=says) as caught:
        load(write(tmp_path / "folder", **files))
    assert caught.value.hint


def test_one_file_is_that_file(tmp_path: Path) -> None:
    where = write(tmp_path / "one", a=CSV + "7,1,1\n9,2,1\n")
    assert load(where).arrival_ns.tolist() == [0, 2 * S]
