"""Import modules one by one, each in a process that has loaded none of them, and tell what they reach for.

Reads {module: [watched package, ...]} as JSON from standard input and writes {module: [finding, ...]} for
the modules with findings. Each module gets a fork of one interpreter: as clean as a new one, but at once.
Attempts count, found or not: an import guarded by try/except shows even where the package is missing.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Sequence

import numpy  # noqa: F401  loaded once here, since most modules use it and it is the slow part


class Watch:
    """Stands before all import finders, finds nothing and notes which watched packages were asked for."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = frozenset(packages)
        self.seen: set[str] = set()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        self.seen |= {name.partition(".")[0]} & self.packages


def findings(module: str, packages: Sequence[str]) -> list[str]:
    watch = Watch(packages)
    sys.meta_path.insert(0, watch)
    failed = []
    try:
        importlib.import_module(module)
    except BaseException:
        failed = [traceback.format_exc().strip().splitlines()[-1]]
    return sorted(watch.seen) + failed


def in_fork(module: str, packages: Sequence[str]) -> list[str]:
    reader, writer = os.pipe()
    if not os.fork():
        with os.fdopen(writer, "w") as out:
            json.dump(findings(module, packages), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        result: list[str] = json.load(answer)
    os.wait()
    return result


if __name__ == "__main__":
    asked: dict[str, list[str]] = json.load(sys.stdin)
    told = {module: in_fork(module, packages) for module, packages in asked.items()}
    json.dump({module: found for module, found in told.items() if found}, sys.stdout)
