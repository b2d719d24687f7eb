"""What a step takes beside pools and buffers stays below what sizes leave for it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kvtui.backends.batch import Batch
from kvtui.memory.paged import PagedMemoryManager
from tests.backends.runs import experiment, on_cpu
from tests.backends.tensors import CPU, SMALL, torch

pytestmark = pytest.mark.torch

LATENT = replace(SMALL, heads=16, kv_heads=1, key_dim=24, value_dim=16, latent=True)


def peak_bytes(path: Path, work: Any) -> int:
    """The most that torch held at once of what it took while `work` went on."""
    from torch.profiler import ProfilerActivity, profile

    with torch.inference_mode(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        work()
    profiled.export_chrome_trace(str(path))
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("name") == "[memory]"]
    taken = np.cumsum([e["args"]["Bytes"] for e in sorted(events, key=lambda e: e["ts"])])
    return int(taken.max())


@pytest.mark.parametrize("shape", [replace(SMALL, heads=32, kv_heads=4), LATENT])
@pytest.mark.parametrize(
    ("counts", "contexts"), [([400], [400]), ([300], [4000]), ([1, 1, 1], [900, 850, 9])]
)
def test_a_step_stays_in_its_bounds(
    shape: Any, counts: list[int], contexts: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvtui.backends import torch_sdpa
    from kvtui.backends import torch_working as working
    from kvtui.backends.torch_clock import Stopwatch
    from kvtui.backends.torch_lane import TorchLane

    monkeypatch.setattr(torch_sdpa, "CPU_SPACE", 1 << 20)
    manager = PagedMemoryManager(4096, 16)
    lane = TorchLane(manager, CPU, shape, lambda request: np.zeros(0), layers=2, longest=4096)
    tables = np.arange(len(counts) * 256, dtype=np.int32).reshape(len(counts), 256) % 256 + 1
    now = np.array(counts)
    batch = Batch((), np.array(contexts) - now, now, tables, np.zeros(sum(counts), np.int32), 16)
    room = lane.room.bytes // lane.room.tokens
    each = working.slot_bytes(CPU, shape, room=room)
    bound = working.step_bytes(CPU, shape, tokens=sum(counts), longest=max(contexts)) + each * sum(contexts)
    taken = peak_bytes(tmp_path / "trace.json", lambda: lane.forward(batch, Stopwatch(CPU)))
    assert bound / 50 < taken < bound


def test_a_long_chunk_is_attended_to_in_parts_that_say_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends import torch_sdpa

    sdpa = torch_sdpa.Sdpa(CPU, SMALL)
    q, k, v = (torch.randn(1, heads, 90, 16) for heads in (4, 2, 2))
    q = q[0].transpose(0, 1)
    for start, window in ((0, None), (50, None), (0, 7), (50, 7)):
        asked = q[start:]
        whole = sdpa.chunk(asked, k, v, start=start, window=window)
        monkeypatch.setattr(torch_sdpa.Sdpa, "queries", lambda self, context: 16)
        assert torch.allclose(sdpa.chunk(asked, k, v, start=start, window=window), whole, atol=1e-5)
        monkeypatch.undo()
    assert sdpa.queries(1 << 20) < sdpa.queries(1 << 12) < 256


def test_pools_leave_room_for_all_else() -> None:
    """What the lanes take, and what a step takes beside it."""
    from kvtui.backends import torch_working as working
    from kvtui.backends.torch_device import CPU_BYTES
    from kvtui.backends.torch_lane import room_for

    tried = on_cpu(experiment(slots=None, max_len=2048), verify=0)
    backend = tried.backend
    taken = working.step_bytes(CPU, backend.shape, tokens=backend.tokens, longest=2048)
    for lane in tried.build(watched=False):
        manager = lane.engine.manager
        slots, room = (manager.blocks + 1) * manager.block_size, backend.room_bytes(lane.spec)
        read = working.slot_bytes(CPU, backend.shape, room=room)
        taken += slots * backend.slot_bytes(lane.spec) + room_for(manager, 2048) * (room + read)
    assert CPU_BYTES / 2 < taken < CPU_BYTES
