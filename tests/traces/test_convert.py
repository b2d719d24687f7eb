"""Traces written in other formats: what both hold comes back, what is lost is said."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.traces import Workload, load
from kvtui.traces.convert import FORMATS, anonymous, convert, usage
from kvtui.traces.info import hit_rate_ceiling

UNIT = 8


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("convert") / "trace"


def again(file: Path, workload: Workload, to: str) -> tuple[Workload, list[str]]:
    stream = io.StringIO()
    lost = convert(workload, stream, to=to)
    file.write_text(stream.getvalue())
    return load(str(file)), lost


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Sessions whose turns go on from each other, part of their last unit identified or not."""
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, 10**13),
                st.integers(1, 60),
                st.integers(1, 30),
                st.integers(0, 3),
                st.booleans(),
            ),
            min_size=1,
            max_size=20,
        )
    )
    rows.sort()
    units = [prompt // UNIT if whole else -(-prompt // UNIT) for _, prompt, _, _, whole in rows]
    chain = [
        1000 * (row[3] + 1) + place for row, count in zip(rows, units, strict=True) for place in range(count)
    ]
    columns = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    count = np.array(units, np.int64)
    return Workload(
        name="made",
        format="kvtui",
        arrival_ns=columns[0] - columns[0][0],
        prompt=columns[1],
        output=columns[2],
        line=np.zeros(len(rows), np.int64),
        priority=columns[3] if draw(st.booleans()) and columns[3].any() else None,
        unit=UNIT,
        chain=np.array(chain, np.int64),
        chain_start=np.concatenate(([0], np.cumsum(count))),
        identified=np.minimum(columns[1], count * UNIT),
    )


@settings(max_examples=100, deadline=None)
@given(workload=workloads(), to=st.sampled_from(sorted(FORMATS)))
def test_what_both_hold_comes_back(file: Path, workload: Workload, to: str) -> None:
    same, lost = again(file, workload, to)
    assert same.arrival_ns.tolist() == workload.arrival_ns.tolist()
    assert same.prompt.tolist() == workload.prompt.tolist()
    assert same.output.tolist() == workload.output.tolist()
    if FORMATS[to].identity:
        assert hit_rate_ceiling(same) == hit_rate_ceiling(workload)
        assert (same.priority is None) == (workload.priority is None)
    else:
        assert "prefix identity is lost: this format has lengths and times only" in lost
    third, _ = again(file, same, to)
    assert third.arrival_ns.tolist() == same.arrival_ns.tolist()
    assert hit_rate_ceiling(third) == hit_rate_ceiling(same)


@pytest.mark.parametrize("to", sorted(FORMATS))
@pytest.mark.parametrize("name", ["azure2023_conv_rows0000-1499.csv", "kvcachetester_trace_0504.json"])
def test_samples_survive(file: Path, sample: Callable[[str], str], name: str, to: str) -> None:
    workload = load(sample(name))
    same, _ = again(file, workload, to)
    assert same.arrival_ns.tolist() == workload.arrival_ns.tolist()
    assert (same.prompt.sum(), same.output.sum()) == (workload.prompt.sum(), workload.output.sum())
    if FORMATS[to].identity and workload.unit:
        assert hit_rate_ceiling(same) == hit_rate_ceiling(workload)


def test_dates_of_a_trace_stay(file: Path) -> None:
    file.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-12 10:20:30.25+00:00,5,6\n")
    stream = io.StringIO()
    convert(load(str(file)), stream, to="azure")
    assert stream.getvalue().splitlines()[1] == "2024-05-12 10:20:30.250000+00:00,5,6"


def test_every_block_of_a_replay_has_an_id(file: Path) -> None:
    file.write_text("t,prompt,output\n0,33,6\n1,16,6\n")
    workload = load(str(file))
    stream = io.StringIO()
    convert(workload, stream, to="vllm")
    same = (file.write_text(stream.getvalue()), load(str(file)))[1]
    assert np.diff(same.chain_start).tolist() == [3, 1]
    assert hit_rate_ceiling(same) == 0
    assert "--timed-trace-chunk-hash-size 16 " in usage(workload, to="vllm", path="x.jsonl")
    assert usage(workload, to="azure", path="x.csv") == ""


def test_unknown_formats_are_refused() -> None:
    with pytest.raises(ConfigError, match="no format 'parquet'") as caught:
        convert(None, io.StringIO(), to="parquet")  # type: ignore[arg-type]
    assert "mooncake" in (caught.value.hint or "")


@settings(max_examples=50, deadline=None)
@given(workload=workloads())
def test_anonymous_traces_keep_what_a_replay_needs(workload: Workload) -> None:
    bare = anonymous(workload)
    assert bare.arrival_ns.tolist() == workload.arrival_ns.tolist()
    assert hit_rate_ceiling(bare) == hit_rate_ceiling(workload)
    assert (bare.name, bare.sha256, bare.assumed, bare.origin_ns) == ("trace", "", (), 0)
    seen = list(dict.fromkeys(bare.chain.tolist()))
    assert seen == list(range(len(seen)))  # ids say in which order they came, and nothing else
