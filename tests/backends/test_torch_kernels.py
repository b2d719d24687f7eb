"""Kernels that are wrong somewhere are not taken, wherever that is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kvtui.memory.paged import PagedMemoryManager
from tests.backends.tensors import CPU, SMALL, torch

pytestmark = pytest.mark.torch


class Gathers:
    """Does what the default does."""

    name = "gathers"

    def __init__(self, lane: Any) -> None:
        self._inner = lane.attention
        self._pool = lane.pool

    def prepare(self, batch: Any) -> None:
        self._host = batch.host
        self._inner.prepare(batch)

    def attend(self, layer: int, q: Any) -> Any:
        return self._inner.attend(layer, q)


class NoWindow(Gathers):
    def prepare(self, batch: Any) -> None:
        super().prepare(batch._replace(host=replace(batch.host, window=None)))


class NotLong(Gathers):
    """No number in contexts beyond 512 tokens."""

    def attend(self, layer: int, q: Any) -> Any:
        read = super().attend(layer, q)
        for row in np.flatnonzero(self._host.contexts > 512):
            read[self._host.offsets[row] : self._host.offsets[row + 1]] = float("nan")
        return read


class NotTheThird(Gathers):
    def attend(self, layer: int, q: Any) -> Any:
        read = super().attend(layer, q)
        read[self._host.offsets[2] :] = 0
        return read


class WholePages(Gathers):
    """Multiplies what stands behind a context in its page by 0."""

    def attend(self, layer: int, q: Any) -> Any:
        read, host = super().attend(layer, q), self._host
        for row, context in enumerate(host.contexts.tolist()):
            page = int(host.tables[row, (context - 1) // host.unit])
            behind = self._pool.v[layer, page, context % host.unit :] if context % host.unit else None
            if behind is not None:
                read[host.offsets[row] : host.offsets[row + 1]] += 0 * behind.sum()
        return read


@pytest.fixture
def verdict(monkeypatch: pytest.MonkeyPatch) -> Any:
    from kvtui.backends import torch_kernels
    from kvtui.backends.torch_lane import TorchLane

    def of(kernel: type, *, windows: tuple[int | None, ...] = (None,), verify: int = 0) -> str:
        monkeypatch.setattr(torch_kernels, "KERNELS", (kernel,))
        manager = PagedMemoryManager(1024, 16)
        lane = TorchLane(
            manager, CPU, SMALL, lambda request: np.zeros(0), windows=windows, longest=1024, verify=verify
        )
        ((_, said),) = torch_kernels.probed(lane)
        assert not lane.pool.k.any()
        return said if isinstance(said, str) else "taken"

    return of


def test_a_kernel_that_is_right_is_taken(verdict: Any) -> None:
    assert {verdict(Gathers, windows=windows) for windows in ((None,), (96,), (None, 96))} == {"taken"}


@pytest.mark.parametrize("kernel", [NotLong, NotTheThird])
def test_a_kernel_that_is_wrong_for_some_is_not_taken(kernel: type, verdict: Any) -> None:
    assert verdict(kernel).startswith("differs")


@pytest.mark.parametrize("windows", [(96,), (None, 96), (700,)])
def test_a_kernel_that_ignores_windows_is_not_taken(windows: tuple[int | None, ...], verdict: Any) -> None:
    assert verdict(NoWindow, windows=windows).startswith("differs")


def test_what_stands_behind_a_context_is_a_number_unless_lanes_are_verified(verdict: Any) -> None:
    """They fill fresh units with no numbers, and such a kernel would read them."""
    assert verdict(WholePages) == "taken"
    assert verdict(WholePages, verify=1).startswith("differs")


def test_what_is_split_is_tried_unsplit_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.nn.attention import varlen

    from kvtui.backends import torch_kernels
    from kvtui.backends.torch_lane import TorchLane

    asked: list[Any] = []

    def wrong(q: Any, *args: Any, **options: Any) -> Any:
        asked.append(options.get("num_splits"))
        return torch.zeros_like(q)

    monkeypatch.setattr(varlen, "varlen_attn", wrong, raising=False)
    monkeypatch.setattr(torch_kernels, "KERNELS", torch_kernels.KERNELS[:2])
    lane = TorchLane(PagedMemoryManager(1024, 16), CPU, SMALL, lambda r: np.zeros(0), longest=1024)
    verdicts = dict(torch_kernels.probed(lane))
    assert list(verdicts) == ["varlen_attn", "varlen_attn, unsplit"]
    assert all(str(verdict).startswith("differs") for verdict in verdicts.values())
    assert asked == [None, None, 1, 1]
