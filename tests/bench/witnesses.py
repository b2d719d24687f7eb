"""Runs tests in a process of their own with planted modules: which meet a statement, which notice a fault."""

from __future__ import annotations

import ast
import gc
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
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import numpy  # noqa: F401  # once, for all the processes
import pytest
from hypothesis import Phase, settings

from tests.bench.faults import MET, Mutant, marked

WITHOUT = ("cacheprovider", "xdist", "randomly", "terminal")  # plugins
OPTIONS = (
    *("-o", "addopts=--import-mode=importlib", "-x", "--hypothesis-seed=0"),
    *(word for name in WITHOUT for word in ("-p", f"no:{name}")),
)
PATIENCE = 5  # times the processor time that a test usually takes, and 3 s


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


def court(paths: Sequence[str], work: Callable[[Court], None]) -> None:
    """Do the work with all tests under `paths` at hand."""
    _profile()
    pytest.main([*OPTIONS, *paths], plugins=[Court(work)])


class Court:
    """Tests that are collected once and asked about fault after fault, each time in a process of its own
    in which the fault's function has other code."""

    def __init__(self, work: Callable[[Court], None]) -> None:
        self._work = work
        self._items: dict[str, pytest.Item] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._work(self)
        return True

    def noticed_by(self, mutant: Mutant, asked: Sequence[Witness]) -> str | None:
        """The first of the tests that fails, in their order, or None. One that does not end has failed."""
        said, status = _in_a_child(lambda say: self._asked(mutant, asked, say))
        return (said or ["on import"])[-1] if status else None

    def _asked(self, mutant: Mutant, asked: Sequence[Witness], say: Callable[[str], None]) -> int:
        if not mutant.statement or not _replaced(mutant):
            return _imported(mutant, asked, say)
        items = [self._items[witness.test] for witness in asked]
        for witness, item, after in zip(asked, items, [*items, None][1:], strict=True):
            _begin(witness, say)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if item.session.testsfailed:
                return 1
        return 0


def _replaced(mutant: Mutant) -> bool:
    """Give the functions of the module the mutant's code; whether that could be done."""
    codes = dict(_codes(compile(mutant.tree, f"<mutant of {mutant.module}>", "exec")))
    functions = [f for f in gc.get_objects() if isinstance(f, FunctionType) and f.__module__ == mutant.module]
    for function in functions:
        code = codes.get(_place(function.__code__), function.__code__)
        if code.co_freevars != function.__code__.co_freevars:
            return False
        function.__code__ = code
    return True


def _codes(code: CodeType) -> Iterator[tuple[tuple[str, int], CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield _place(inner), inner
            yield from _codes(inner)


def _place(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _imported(mutant: Mutant, asked: Sequence[Witness], say: Callable[[str], None]) -> int:
    """Ask tests that import everything anew, file by file."""
    for name in [name for name in sys.modules if name.startswith(("kvtui", "tests"))]:
        del sys.modules[name]
    planted = {mutant.module: mutant.tree}
    files = dict.fromkeys(witness.file for witness in asked)
    return next((bad for file in files if (bad := _run([file], planted, _Asking(asked, say)))), 0)


def _begin(witness: Witness, say: Callable[[str], None]) -> None:
    """Tell which test is asked; the signal ends the process when it takes too long."""
    say(witness.test)
    signal.setitimer(signal.ITIMER_PROF, 3 + PATIENCE * witness.took_s)


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
        self._asked = {witness.test: witness for witness in asked}
        self._say = say

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        here = {item.nodeid: item for item in items}
        items[:] = [here[test] for test in self._asked if test in here]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        _begin(self._asked[item.nodeid], self._say)


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
    _profile()
    return int(pytest.main([*OPTIONS, *paths], plugins=[plugin]))


def _profile() -> None:
    """The first failure is enough, and nothing is kept for the next fault."""
    phases = [Phase.explicit, Phase.generate]
    settings.register_profile("faults", database=None, deadline=None, phases=phases)
    settings.load_profile("faults")


def _in_a_child(work: Callable[[Callable[[Any], None]], int]) -> tuple[list[Any], int]:
    """What the work said in a process of its own, and how it ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        status = 1
        try:
            _silence()
            status = work(lambda said: _write(writing, pickle.dumps(said)))
        finally:
            os._exit(status)  # whatever happened, it must not go on with the work of its parent
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
