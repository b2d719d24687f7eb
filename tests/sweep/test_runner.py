"""The same results on any executor, whatever happens to the workers."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from kvtui.errors import ConfigError
from kvtui.sweep.cell import Cell, Result
from kvtui.sweep.ledger import Ledger
from kvtui.sweep.pools import dask, local
from kvtui.sweep.runner import Pool, Runner
from tests.packaging.source import ROOT
from tests.sweep.work import cell, deadly, deadly_once, plain

CELLS = [cell(n) for n in range(1, 9)]


def shared() -> list[Pool]:
    return [Pool(lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")), 2)]


def numbers(ledger: Ledger) -> list[int]:
    return sorted(r["number"] for r in ledger.results.values() if r["status"] == "done")


@pytest.mark.parametrize(
    "pools", [lambda: local(2), shared, lambda: [Pool(lambda: ThreadPoolExecutor(3), 3)]]
)
def test_every_executor_gives_the_same(pools: Callable[[], list[Pool]]) -> None:
    ledger = Ledger()
    Runner(pools(), ledger, work=plain).run(CELLS)
    assert ledger.results == {c.key: plain(c) for c in CELLS}


@pytest.mark.parametrize("pools", [lambda: local(2), shared])
def test_a_poisonous_cell_is_named_and_skipped(pools: Callable[[], list[Pool]]) -> None:
    ledger = Ledger()
    Runner(pools(), ledger, work=deadly).run(CELLS)
    assert numbers(ledger) == [1, 2, 4, 5, 6, 7, 8]
    (failed,) = (key for key, r in ledger.results.items() if r["status"] == "failed")
    assert failed == cell(3).key
    assert "died" in ledger.results[failed]["reason"]


def test_a_killed_worker_costs_one_cell_a_retry(tmp_path: Path) -> None:
    cells = [cell(n, manager=str(tmp_path)) for n in range(1, 9)]
    ledger = Ledger()
    Runner(local(2), ledger, work=deadly_once).run(cells)
    assert numbers(ledger) == list(range(1, 9))
    assert sorted(map(int, (tmp_path / "runs").read_text().split())) == list(range(1, 9)), "nothing ran twice"


def test_a_sweep_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    path, cells = str(tmp_path / "ledger.jsonl"), [cell(n, manager=str(tmp_path)) for n in range(4, 8)]
    Runner(local(1), Ledger(path), work=deadly_once).run(cells[:2])
    with open(path, "a") as file:
        file.write('{"key": "cut off in the mid')
    ledger = Ledger(path)
    assert len(ledger.results) == 2
    Runner(local(1), ledger, work=deadly_once).run(cells)
    assert sorted((tmp_path / "runs").read_text().split()) == ["4", "5", "6", "7"]
    assert len(Ledger(path).results) == 4
    Runner(local(1), Ledger(path), work=deadly_once).run(cells)
    assert len((tmp_path / "runs").read_text().split()) == 4, "nothing was left to do"


def test_a_ledger_is_not_any_file(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("my notes\n")
    with pytest.raises(ConfigError, match="no ledger"):
        Ledger(str(path))
    assert path.read_text() == "my notes\n"
    path.write_text('{"kvtui_sweep": 1}\n')
    with pytest.raises(ConfigError, match="another release"):
        Ledger(str(path))
    path.write_text('{"kvtui_sweep": 2}\nbroken\n{"key": "a", "result": {"status": "failed"}}\n')
    with pytest.raises(ConfigError, match=":2: this line is no result"):
        Ledger(str(path))
    for key, result in (
        ("3", '{"status": "failed", "reason": "r"}'),
        ('"a"', '{"status": "done"}'),
        ('"a"', "7"),
    ):
        path.write_text(f'{{"kvtui_sweep": 2}}\n{{"key": {key}, "result": {result}}}\n')
        with pytest.raises(ConfigError, match=":2: this line is no result"):
            Ledger(str(path))
    with pytest.raises(ConfigError, match="no file that a ledger"):
        Ledger("/dev/full")
    with pytest.raises(ConfigError, match="cannot be written"):
        Ledger(str(tmp_path / "none" / "x")).add(cell(), {"status": "done"})


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_a_sweep_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    said = tmp_path / "pid"
    code = (
        "from kvtui.sweep.ledger import Ledger; from kvtui.sweep.pools import local;"
        "from kvtui.sweep.runner import Runner; from tests.sweep.work import cell, endless;"
        f"Runner(local(1), Ledger(), work=endless).run([cell(1, manager={str(said)!r})])"
    )
    sweep = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE)
    while not (said.exists() and said.read_text()):
        assert sweep.poll() is None
        time.sleep(0.05)
    sweep.send_signal(how)
    assert sweep.communicate(timeout=60) == (b"", None), "the pipe is closed when the worker has gone"


def test_a_ledger_has_one_sweep_at_a_time(tmp_path: Path) -> None:
    path = str(tmp_path / "ledger.jsonl")
    first, second = Ledger(path), Ledger(path)
    first.add(CELLS[0], plain(CELLS[0]))
    with pytest.raises(ConfigError, match="a sweep that still runs"):
        second.add(CELLS[1], plain(CELLS[1]))
    first.close()
    late = Ledger(path)
    late.add(CELLS[1], plain(CELLS[1]))
    late.close()
    assert numbers(Ledger(path)) == sorted(cell.block_size for cell in CELLS[:2])


def test_a_ledger_that_cannot_be_written_is_told_before_the_first_cell(tmp_path: Path) -> None:
    ran: list[int] = []

    def work(cell: Cell) -> Result:
        ran.append(cell.block_size)
        return plain(cell)

    ledger = Ledger(str(tmp_path / "none" / "ledger.jsonl"))
    with pytest.raises(ConfigError, match="cannot be written"):
        Runner([Pool(lambda: ThreadPoolExecutor(1))], ledger, work=work).run(CELLS)
    assert ran == []


def test_a_ledger_that_fails_on_the_way_is_no_dead_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full after two cells: that is what is said, and the two are kept."""
    path = str(tmp_path / "ledger.jsonl")
    ledger, write = Ledger(path), io.TextIOWrapper.write

    class Full(io.TextIOWrapper):
        def write(self, text: str) -> int:
            if len(ledger.results) > 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(self, text)

    monkeypatch.setattr("kvtui.sweep.ledger.io.TextIOWrapper", Full)
    with pytest.raises(ConfigError, match="cannot be written: No space left"):
        Runner([Pool(lambda: ThreadPoolExecutor(1))], ledger, work=plain).run(CELLS)
    assert numbers(Ledger(path)) == [1, 2]


def test_a_ledger_with_everything_need_not_be_writable(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    Runner([Pool(lambda: ThreadPoolExecutor(1))], Ledger(str(path)), work=plain).run(CELLS)
    ledger = Ledger(str(path))
    path.rename(tmp_path / "moved")
    path.mkdir()
    Runner([Pool(lambda: ThreadPoolExecutor(1))], ledger, work=plain).run(CELLS)
    assert numbers(ledger) == list(range(1, 9))


def test_failed_cells_can_be_forgotten(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "l"))
    ledger.add(cell(1), {"status": "failed", "reason": "unknown"})
    ledger.add(cell(2), plain(cell(2)))
    ledger.close()
    again = Ledger(str(tmp_path / "l"))
    again.forget("failed")
    assert list(again.results) == [cell(2).key]
    assert json.loads((tmp_path / "l").read_text().splitlines()[1])["cell"]["block_size"] == 1


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ConfigError, match="extra dist"):
        dask("tcp://127.0.0.1:1")


def test_a_dask_cluster() -> None:
    """A real one: clean, with a worker that dies, and a scheduler that is not there."""
    distributed = pytest.importorskip("distributed")
    once = {"distributed.scheduler.allowed-failures": 0, "distributed.scheduler.worker-saturation": 1.0}
    with (
        pytest.importorskip("dask").config.set(once),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        ledger = Ledger()
        Runner(dask(cluster.scheduler_address), ledger, work=plain).run(CELLS)
        assert ledger.results == {c.key: plain(c) for c in CELLS}
        ledger = Ledger()
        Runner(dask(cluster.scheduler_address), ledger, work=deadly).run(CELLS)
        assert numbers(ledger) == [1, 2, 4, 5, 6, 7, 8]
    with pytest.raises(ConfigError, match="no Dask scheduler"):
        dask("tcp://127.0.0.1:9")


def test_one_process_a_core_by_default() -> None:
    assert len(local()) == len(os.sched_getaffinity(0))
    assert isinstance(local(1)[0], Pool)
    assert issubclass(ProcessPoolExecutor, Executor)
