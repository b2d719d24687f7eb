"""Small faults that can be planted in a module, and marks that tell which of its statements were met."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from tests.packaging.source import modules, parse

MET = "_statements_met"  # in a marked module: one byte a line, 1 when the statement there was met
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
    statement: int  # the line where the statement begins that it is part of; 0 when it runs on import
    what: str

    @property
    def tree(self) -> ast.Module:
        """The whole module."""
        tree = parse(modules()[self.module])
        _change(list(_places(tree))[self.at][0])
        return ast.fix_missing_locations(tree)


def mutants(module: str) -> Iterator[Mutant]:
    """Every mutant of a module, in the order of the source."""
    for at, (node, statement) in enumerate(list(_places(parse(modules()[module])))):  # before any is changed
        before = ast.unparse(node)
        if _change(node):
            yield Mutant(module, at, node.lineno, statement, f"{before}  ->  {ast.unparse(node)}")


def marked(module: str) -> ast.Module:
    """The module, with a mark before each statement of its functions."""
    tree = parse(modules()[module])
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            continue
        for name in ("body", "orelse", "finalbody"):
            if isinstance(statements := getattr(node, name, None), list):
                setattr(node, name, [each for statement in statements for each in _with_mark(statement)])
    return ast.fix_missing_locations(tree)


def _with_mark(statement: ast.stmt) -> tuple[ast.stmt, ast.stmt]:
    (mark,) = ast.parse(f"{MET}[{statement.lineno}] = 1").body
    return ast.copy_location(mark, statement), statement


def _places(
    node: ast.AST, within: int = 0, inside: bool = False
) -> Iterator[tuple[ast.expr | ast.stmt, int]]:
    """Expressions and statements that decide something, neither types nor texts nor assertions, each with the
    line of the statement that it is part of (`inside` a function)."""
    inside = inside or isinstance(node, ast.FunctionDef)
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, PASSED_OVER):
                continue
            in_function = inside and field != "args"  # what an argument is by default is settled on import
            line = child.lineno if in_function and isinstance(child, ast.stmt) else within
            if isinstance(child, ast.expr | ast.stmt):
                yield child, line
            yield from _places(child, line, in_function)


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
