"""Managers used by name, with forks and copies: the bugs that the ghost pool sees, attention sees as well."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from kvtui.backends.batch import Batch, Ids, TokenIds, _mixed
from kvtui.memory.paged import PagedMemoryManager
from kvtui.serving.request import Request
from tests.backends.tensors import CPU, SMALL, torch
from tests.memory.ghost_driver import Driver, Tokens, WrongRead, chain_keys, prefix_hashes
from tests.memory.test_ghost import (
    block_keys_without_parent,
    freed_while_held,
    no_copy,
    stale_key,
    swapped_entries,
    write_to_shared,
)

pytestmark = pytest.mark.torch

SEEDS = (3, 7, 10, 11)


class Fresh(TokenIds):
    """Ids of sequences that grow."""

    def _all(self, request: Request) -> Ids:
        return _mixed(self._truth(request))


class TensorDriver(Driver):
    """Computes what it stores, and reads the whole context to do so."""

    def __init__(self, seed: int, *, keys: Callable[[Tokens, int], list[int]] = chain_keys) -> None:
        from kvtui.backends.torch_lane import TorchLane

        super().__init__(seed, PagedMemoryManager(4 * 14, 4), keys=keys)
        self.lane = TorchLane(self.manager, CPU, SMALL, self._truth, layers=2, longest=80, verify=1)
        self.log = self.manager.log
        self.lane.tokens = self.lane.verifier.tokens = Fresh(self._truth)
        self.ghost = self

    def replay(self, ops: list) -> None:
        with torch.inference_mode():
            self.lane.pool.replay(ops, base=0)

    def _truth(self, request: Request) -> np.ndarray:
        name = next(name for name, r in self.manager.handles.items() if r is request)
        return prefix_hashes(self.tokens[name])

    def _write(self, name: str, start: int) -> None:
        from kvtui.backends.torch_clock import Stopwatch

        self.replay(self.log.drain())
        request, upto = self._request(name), len(self.tokens[name])
        ids = self.lane.tokens.of(request, upto)[start:]
        table = np.array([request.table], np.int32)
        batch = Batch((request,), np.array([start]), np.array([upto - start]), table, ids, 4)
        with torch.inference_mode():
            self.lane.verifier.check(batch, self.lane.forward(batch, Stopwatch(CPU)))

    def _read_all(self) -> None:
        if self.lane.verifier.failed:
            raise WrongRead(self.lane.verifier.first)


def driven(
    seeds: tuple[int, ...] = SEEDS, steps: int = 80, **options: object
) -> tuple[list[TensorDriver], int]:
    """Drivers that have run, and how many of them read something wrong."""
    drivers = [TensorDriver(seed, **options) for seed in seeds]
    found = 0
    for driver in drivers:
        try:
            driver.run(steps)
        except WrongRead:
            found += 1
        except (AssertionError, KeyError, IndexError):
            pass  # seen by counting, before anything is read
    return drivers, found


def test_forks_and_copies_read_right() -> None:
    drivers, found = driven()
    assert found == 0
    assert sum(driver.copies for driver in drivers) > 10
    assert sum(driver.hits for driver in drivers) > 50
    assert sum(driver.lane.verifier.checked for driver in drivers) > 100


BUGS = [no_copy, write_to_shared, stale_key, freed_while_held, swapped_entries]


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_caught(bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert driven()[1] >= 2


def test_keys_without_their_parent_are_caught() -> None:
    assert driven(keys=block_keys_without_parent)[1] >= 2


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends.torch_device import Device

    monkeypatch.setattr(Device, "dtype", property(lambda self: torch.bfloat16))


@pytest.mark.usefixtures("half")
def test_in_half_precision_nothing_is_wrong_without_a_bug() -> None:
    drivers, found = driven(SEEDS[:2])
    assert found == 0
    assert all(driver.lane.verifier.difference > 1e-3 for driver in drivers)


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize("bug", BUGS)
def test_in_half_precision_a_planted_bug_is_caught(bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug(monkeypatch)
    assert driven(SEEDS[:2])[1] >= 1


@pytest.mark.usefixtures("half")
def test_in_half_precision_keys_without_their_parent_are_caught() -> None:
    assert driven(SEEDS[:2], keys=block_keys_without_parent)[1] >= 1
