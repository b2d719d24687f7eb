"""How many small faults planted in the core the tests notice.

    python -m tests.bench.mutants [--sample 100] [--seed 1] [--only scheduler ...] [--timeout 400]

One place of the source is changed at a time (a comparison, a sign, a number, a condition, a call left out)
and the tests of decisions, leaps, memory and contracts run until one fails. What nobody noticed is printed: a
test is missing, or the change means nothing. Without ../shared the tests see less. A hundred take about an
hour of processor time.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_loader
from types import ModuleType
from typing import NamedTuple

from tests.packaging.source import modules, parse

CORE = ("kvtui.memory.", "kvtui.serving.")
SPARED = ("kvtui.memory.protocol", "kvtui.serving.cost", "kvtui.serving.measured")  # seams, and what waits
TESTS = (  # the quickest to notice first; slow ones that see little more are left out
    "tests/golden",
    "tests/contracts/test_managers.py",
    "tests/serving/test_sums.py",
    "tests/serving/test_scenarios.py",
    "tests/serving/test_decisions.py",
    "tests/serving/test_more_decisions.py",
    "tests/vllm",
    "tests/serving/test_plain.py",
    "tests/serving/test_ahead.py",
    "tests/serving/test_leaps.py",
    "tests/memory",
    "tests/serving/test_speculation.py",
    "tests/serving/test_closedloop.py",
    "tests/sharing",
    "tests/frames/test_tally.py",
)
PASSED_OVER = (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom, ast.JoinedStr)
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


class Mutant(NamedTuple):
    """A module with the place `at` of its source changed."""

    module: str
    at: int
    line: int
    what: str

    @property
    def tree(self) -> ast.Module:
        """The whole module."""
        tree = parse(modules()[self.module])
        _change(list(_places(tree))[self.at])
        return ast.fix_missing_locations(tree)


def mutants(module: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of the source."""
    for at, node in enumerate(list(_places(parse(modules()[module])))):  # before any of it is changed
        before = ast.unparse(node)
        if _change(node):
            yield Mutant(module, at, node.lineno, f"{before}  ->  {ast.unparse(node)}")


def _places(node: ast.AST) -> Iterator[ast.expr | ast.stmt]:
    """Expressions and statements that decide something; neither types nor texts nor assertions."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, PASSED_OVER):
                continue
            if isinstance(child, ast.expr | ast.stmt):
                yield child
            yield from _places(child)


def _change(node: ast.expr | ast.stmt) -> bool:
    """Make the node mean something else; whether that could be done."""
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [COMPARED[type(op)]()]
        case ast.BinOp() | ast.AugAssign() if type(node.op) in SIGNS:
            node.op = SIGNS[type(node.op)]()
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not()):
            node.op = ast.UAdd()  # +True is 1
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value)):
            node.value = value + 1
        case ast.Expr(value=ast.Call()):
            node.value = ast.Constant(None)  # the call is left out
        case _:
            return False
    return True


class _Planted(MetaPathFinder, Loader):
    """Imports one module as the mutant has it."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return spec_from_loader(name, self) if name == self._mutant.module else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._mutant.tree, f"<mutant of {self._mutant.module}>", "exec"), module.__dict__)


def noticed(mutant: Mutant, timeout_s: int) -> bool:
    """Whether a test fails with it. A run that does not end is noticed too."""
    child = os.fork()
    if not child:
        os._exit(_tested(mutant, timeout_s))
    _, status = os.waitpid(child, 0)
    return status != 0


def _tested(mutant: Mutant, timeout_s: int) -> int:
    """Exit status of the tests, in a process of its own."""
    import pytest

    signal.setitimer(signal.ITIMER_PROF, timeout_s)  # of processor time; its signal ends the process
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    sys.meta_path.insert(0, _Planted(mutant))
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:randomly"]
    return int(pytest.main(["-x", "-q", "--hypothesis-seed=0", *plugins, *TESTS]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--timeout", type=int, default=400)
    asked = parser.parse_args()
    core = [name for name in modules() if name.startswith(CORE) and name not in SPARED]
    chosen = [name for name in core if any(part in name for part in asked.only)]
    every = [mutant for name in chosen for mutant in mutants(name)]
    sample = random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    killed = _judge(sample, asked.timeout, print)
    share = 100 * killed / len(sample)
    print(f"{killed} of {len(sample)} noticed ({share:.1f} %), out of {len(every):,} that there are")


def _judge(sample: list[Mutant], timeout_s: int, say: Callable[[str], None]) -> int:
    killed = 0
    for number, mutant in enumerate(sample, 1):
        start = time.monotonic()
        if noticed(mutant, timeout_s):
            killed += 1
        else:
            say(f"{number}: nobody noticed {mutant.module}:{mutant.line}  {mutant.what}")
        sys.stderr.write(
            f"\r{number} of {len(sample)}, {killed} noticed, last {time.monotonic() - start:.0f} s "
        )
    sys.stderr.write("\n")
    return killed


if __name__ == "__main__":
    main()
