"""What a device is told: rows of tables that changed, and all else in one copy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.backends.torch_sent import LEAST, Packet, Sent, TableOnDevice
from tests.backends.tensors import CPU, on_tensors, torch
from tests.serving.test_leaps import paged

pytestmark = pytest.mark.torch


def arrays(most: int) -> st.SearchStrategy[np.ndarray]:
    sizes = st.tuples(st.integers(1, most), st.integers(1, most))
    return sizes.flatmap(
        lambda size: st.lists(st.integers(0, 3), min_size=size[0] * size[1], max_size=size[0] * size[1]).map(
            lambda values: np.array(values, np.int32).reshape(size)
        )
    )


@given(st.lists(arrays(5), min_size=1, max_size=8))
def test_a_table_on_the_device_becomes_what_it_is_told(steps: list[np.ndarray]) -> None:
    table = TableOnDevice(CPU)
    for step in steps:
        at, rows = table.changes(step)
        there = table.write(torch.as_tensor(at), torch.as_tensor(rows))
        assert there[: len(step), : step.shape[1]].tolist() == step.tolist()


def test_rows_that_stay_are_not_sent_again() -> None:
    table = TableOnDevice(CPU)
    table.changes(np.array([[1, 2], [3, 4], [5, 6]], np.int32))
    at, rows = table.changes(np.array([[1, 2], [3, 7]], np.int32))
    assert (at.tolist(), rows.tolist()) == ([1], [[3, 7]])
    assert table.changes(np.array([[1, 2], [3, 7]], np.int32))[0].size == 0


def test_a_packet_grows_and_keeps_the_forms_of_its_parts() -> None:
    packet = Packet(CPU)
    small, none = np.arange(6, dtype=np.int64).reshape(2, 3), np.zeros((0, 4), np.int32)
    large = np.arange(3 * LEAST, dtype=np.int32)
    for parts in ([small], [small, none, large], [large, small]):
        there = packet.send(parts)
        assert [x.dtype for x in there] == [torch.int32] * len(parts)
        assert all(np.array_equal(x.numpy(), part) for x, part in zip(there, parts, strict=True))


class Event:
    """Of a device that says what was asked of it."""

    def __init__(self, said: list[str]) -> None:
        self._said = said

    def record(self) -> None:
        self._said.append("recorded")

    def synchronize(self) -> None:
        self._said.append("waited")


def test_pinned_memory_is_not_written_to_while_a_device_may_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that copies without being waited for: the tensors of the CPU in its place."""
    said: list[str] = []
    api = SimpleNamespace(Event=lambda: Event(said))
    fake: Any = SimpleNamespace(kind="cuda", on_cpu=False, device=torch.device("cpu"), api=api)
    empty, pinned = torch.empty, []

    def allocating(*size: int, pin_memory: bool = False, **options: Any) -> Any:
        pinned.append(pin_memory)
        return empty(*size, **options)

    monkeypatch.setattr(torch, "empty", allocating)
    packet = Packet(fake)
    assert pinned == [True, False]
    first = packet.send([np.arange(3)])[0]
    assert said == ["recorded"]
    assert first.tolist() == [0, 1, 2]
    assert packet._there.data_ptr() != packet._host.data_ptr()
    packet.send([np.arange(2)])
    assert said == ["recorded", "waited", "recorded"]


def test_a_step_in_which_all_decode_sends_little() -> None:
    """Rows that grew, and a few numbers for each token."""
    engine = paged(0)
    lane = on_tensors(engine, verify=0)
    sent, whole = [], []
    seen = lane._sent.seen

    def listening(batch: Any, planes: Any) -> Any:
        before = [table._held.copy() for table in lane._sent._tables]
        result = seen(batch, planes)
        if (batch.counts == 1).all() and before:
            held = lane._sent._tables[0]._held
            same = before[0].shape == held.shape
            sent.append(int((before[0] != held).any(1).sum()) if same else len(held))
            whole.append(len(batch.requests))
        return result

    lane._sent.seen = listening
    engine.run()
    assert isinstance(lane._sent, Sent)
    assert len(sent) > 50
    assert sum(sent) < sum(whole) / 2
