"""A trace reads alike however it is packed, and damage is told in one sentence."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtui.errors import TraceError
from kvtui.traces import Workload, load, packing
from tests.traces.conftest import Read

CSV = "TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(
    f"2024-05-10 00:00:{second:02}.5+00:00,{100 + second},{second + 1}\n" for second in range(60)
)
CHATS = [
    {"conversation": [{"role": "user", "content": "why " * n}, {"role": "assistant", "content": "so " * n}]}
    for n in (3, 30, 300)
]


def zstd(data: bytes) -> bytes:
    module = packing._zstd_module()
    if module is None:
        pytest.skip("no zstd here")
    packed: bytes = module.compress(data)
    return packed


def parquet(data: bytes) -> bytes:
    csv, writer = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    sink = io.BytesIO()
    writer.write_table(csv.read_csv(io.BytesIO(data)), sink)
    return sink.getvalue()


def utf16(data: bytes) -> bytes:
    return data.decode().replace("\n", "\r\n").encode("utf-16")


PACKERS = [gzip.compress, bz2.compress, lzma.compress, zstd, utf16, parquet]


def columns(workload: Workload) -> list[list[int]]:
    return [column.tolist() for column in (workload.arrival_ns, workload.prompt, workload.output)]


@pytest.mark.parametrize("pack", PACKERS)
def test_packed_traces_read_alike(read: Read, pack: Callable[[bytes], bytes]) -> None:
    packed = pack(CSV.encode())
    assert columns(read(packed, name="packed")) == columns(read(CSV, name="plain"))
    assert read(packed, name="packed").name == "packed"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PACKERS), st.data())
def test_damage_is_a_sentence(tmp_path: Path, pack: Callable[[bytes], bytes], data: st.DataObject) -> None:
    packed = bytearray(pack(CSV.encode()))
    if data.draw(st.booleans()):
        packed = packed[: data.draw(st.integers(0, len(packed) - 1))]
    else:
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    path = tmp_path / "damaged"
    path.write_bytes(packed)
    refused: TraceError | None = None
    try:
        load(str(path))
    except TraceError as error:
        refused = error
    if refused is not None:
        assert "\n" not in refused.message
        assert refused.hint


def test_rows_that_hold_records(tmp_path: Path) -> None:
    arrow, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "chats.parquet"
    writer.write_table(arrow.Table.from_pylist(CHATS), path)
    workload = load(str(path))
    assert len(workload) == 3
    assert workload.estimated
    assert workload.name == "chats"


@pytest.mark.parametrize(
    ("pack", "modules"), [(zstd, ("compression.zstd", "backports.zstd")), (parquet, ("pyarrow",))]
)
def test_a_missing_package_is_named(
    read: Read, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes], modules: tuple[str, ...]
) -> None:
    packed = pack(CSV.encode())
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TraceError) as caught:
        read(packed)
    assert caught.value.hint is not None
    assert "kvtui[traces]" in caught.value.hint


def test_standard_input_without_end_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            assert size >= 0, "reads for ever"
            return bytes(size)

    class Stdin:
        buffer = Endless()

        def isatty(self) -> bool:
            return False

    stdin: Any = Stdin()
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(TraceError, match="a binary file"):
        load("-")
