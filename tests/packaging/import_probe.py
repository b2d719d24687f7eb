"""Import modules and tell what they reach for.

Reads rings of modules as JSON from standard input, [{preload: [package], watch: [package], modules: [name]}],
and writes {module: [finding, ...]} for the modules with findings. A ring is imported in a fork of one
interpreter; where that finds something, each of its modules is, in a fork that has loaded none of the others.
What a ring preloads, slow and allowed, stays loaded for the next ring.
Attempts count, found or not: an import guarded by try/except shows even where the package is missing.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence


class Watch:
    """Stands before all import finders, finds nothing and notes which watched packages were asked for."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = frozenset(packages)
        self.seen: set[str] = set()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        self.seen |= {name.partition(".")[0]} & self.packages


def findings(modules: Sequence[str], packages: Sequence[str]) -> list[str]:
    watch = Watch(packages)
    sys.meta_path.insert(0, watch)
    failed = []
    try:
        for module in modules:
            importlib.import_module(module)
    except BaseException:
        failed = [traceback.format_exc().strip().splitlines()[-1]]
    return sorted(watch.seen) + failed


def in_fork(modules: Sequence[str], packages: Sequence[str]) -> list[str]:
    reader, writer = os.pipe()
    if not os.fork():
        with os.fdopen(writer, "w") as out:
            json.dump(findings(modules, packages), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        result: list[str] = json.load(answer)
    os.wait()
    return result


def probe(rings: Sequence[dict[str, list[str]]]) -> Iterator[tuple[str, list[str]]]:
    for ring in rings:
        for package in ring["preload"]:
            importlib.import_module(package)
        if in_fork(ring["modules"], ring["watch"]):
            for module in ring["modules"]:
                yield module, in_fork([module], ring["watch"])


if __name__ == "__main__":
    json.dump({module: found for module, found in probe(json.load(sys.stdin)) if found}, sys.stdout)
