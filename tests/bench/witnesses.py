"""Runs tests in a process of their own with planted modules: which meet a statement, which notice a fault."""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import Any, NamedTuple

import numpy  # noqa: F401  # once, for all the processes
import pytest
from hypothesis import Phase, settings

from tests.bench.faults import MET, Mutant, marked

PATIENCE = 5  # times the processor time that a test usually takes, and 10 s


class Witness(NamedTuple):
    """A test that passes without a fault: the processor time it takes, the statements that it meets."""

    test: str
    took_s: float
    met: Mapping[str, bytes]  # by module, one byte a line

    @property
    def file(self) -> str:
        return self.test.partition("::")[0]

    def meets(self, mutant: Mutant) -> bool:
        """Whether the fault's statement is run; what runs on import is there for everyone."""
        return not mutant.statement or bool(self.met[mutant.module][mutant.statement])


def witnesses(paths: Sequence[str], core: Collection[str]) -> list[Witness]:
    """The tests under `paths`, run once, with what each meets of the modules `core`."""
    planted = {name: marked(name) for name in core}
    said, status = _in_a_child(lambda say: _run(paths, planted, _Meeting(core, say)))
    assert not status, "tests fail without any fault"
    return said


def noticed_by(mutant: Mutant, asked: Sequence[Witness]) -> str | None:
    """The first of the tests that fails, file by file in their order, or None. An endless one fails."""
    files = dict.fromkeys(witness.file for witness in asked)
    planted = {mutant.module: mutant.tree}

    def work(say: Callable[[str], None]) -> int:
        return next((bad for file in files if (bad := _run([file], planted, _Asking(asked, say)))), 0)

    said, status = _in_a_child(work)
    return (said or ["on import"])[-1] if status else None


class _Meeting:
    """Tells of each test what it met and how long it took."""

    def __init__(self, core: Collection[str], say: Callable[[Witness], None]) -> None:
        self._core, self._say = core, say

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        marks = {name: vars(importlib.import_module(name))[MET] for name in self._core}
        for met in marks.values():
            met[:] = bytes(len(met))
        start = time.process_time()
        yield
        took_s = time.process_time() - start
        self._say(Witness(item.nodeid, took_s, {name: bytes(met) for name, met in marks.items()}))


class _Asking:
    """Asks the tests in the order given, telling which is asked."""

    def __init__(self, asked: Sequence[Witness], say: Callable[[str], None]) -> None:
        self._rank = {witness.test: rank for rank, witness in enumerate(asked)}
        self._took_s = {witness.test: witness.took_s for witness in asked}
        self._say = say

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        asked = [item for item in items if item.nodeid in self._rank]
        items[:] = sorted(asked, key=lambda item: self._rank[item.nodeid])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self._say(item.nodeid)  # its signal ends the process:
        signal.setitimer(signal.ITIMER_PROF, 10 + PATIENCE * self._took_s[item.nodeid])


class _Planted(MetaPathFinder, Loader):
    """Imports some modules as they are given."""

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self._trees = trees

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name in self._trees else None

    def exec_module(self, module: ModuleType) -> None:
        tree = self._trees[module.__name__]
        vars(module)[MET] = bytearray(1 + max((node.end_lineno or 0 for node in tree.body), default=0))
        exec(compile(tree, f"<planted {module.__name__}>", "exec"), vars(module))


def _run(paths: Sequence[str], planted: Mapping[str, ast.Module], plugin: object) -> int:
    """Exit status of the tests."""
    sys.meta_path.insert(0, _Planted(planted))
    settings.register_profile(  # the first failure is enough, and nothing is kept for the next fault
        "faults", database=None, deadline=None, phases=[Phase.explicit, Phase.generate]
    )
    settings.load_profile("faults")
    without = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    return int(pytest.main(["-x", "-q", "--hypothesis-seed=0", *without, *paths], plugins=[plugin]))


def _in_a_child(work: Callable[[Callable[[Any], None]], int]) -> tuple[list[Any], int]:
    """What the work said in a process of its own, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        _silence()
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            os._exit(work(lambda said: _write(pipe.fileno(), pickle.dumps(said))))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = list(_read(pipe))
    _, status = os.waitpid(child, 0)
    return said, status


def _silence() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _write(pipe: int, data: bytes) -> None:
    while data:
        data = data[os.write(pipe, data) :]


def _read(pipe: Any) -> Iterator[Any]:
    try:
        while True:
            yield pickle.load(pipe)
    except EOFError:
        return
