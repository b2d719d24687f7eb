"""Small rooms: no file and no function grows past what fits in one head."""

from __future__ import annotations

import ast

from tests.packaging.source import ROOT, modules, parse

FILE_LINES = 400
FUNCTION_LINES = 50


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in modules().values()}
    offenders = [f"{path.relative_to(ROOT)}: {n} lines" for path, n in lengths.items() if n > FILE_LINES]
    assert not offenders, "\n".join(offenders)


def test_no_function_is_too_long() -> None:
    functions = (
        (path, node)
        for path in modules().values()
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    offenders = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {lines} lines"
        for path, node in functions
        if (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]
    assert not offenders, "\n".join(offenders)


def test_every_folder_says_what_it_is_for() -> None:
    folders = {path.parent for path in modules().values()}
    said = {
        path.parent
        for path in modules().values()
        if path.name == "__init__.py" and ast.get_docstring(parse(path))
    }
    assert folders == said, sorted(map(str, folders - said))
