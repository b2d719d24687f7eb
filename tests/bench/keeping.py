"""Keeps what tests meet of the core from one run to the next, in a folder of the user's choice.

A test path is run again when anything in the package has changed, in what the tests share, or under the path;
so after a test is written only its neighbours are.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from tests.bench.witnesses import Witness, witnesses
from tests.packaging.source import ROOT


def kept_witnesses(folder: Path | None, paths: Sequence[str], core: Collection[str]) -> list[Witness]:
    """The tests under `paths` with what each meets of `core`, from the folder where it has them."""
    if folder is None:
        return witnesses(paths, core)
    folder.mkdir(parents=True, exist_ok=True)
    files = {path: folder / _name(path, core) for path in paths}
    missing = [path for path in paths if not files[path].exists()]
    found = witnesses(missing, core) if missing else []
    for path in missing:
        here = [witness for witness in found if Path(witness.file).is_relative_to(path)]
        files[path].write_bytes(pickle.dumps(here))
    return [witness for path in paths for witness in pickle.loads(files[path].read_bytes())]


def _name(path: str, core: Collection[str]) -> str:
    """A name that changes with everything that could change what the tests there meet."""
    digest = hashlib.sha256(repr((path, sorted(core))).encode())
    for file in _files(ROOT / path):
        digest.update(f"\n{file.relative_to(ROOT)}\n".encode() + file.read_bytes())
    return f"{path.replace('/', '-')}-{digest.hexdigest()[:24]}"


def _files(at: Path) -> Iterator[Path]:
    for file in sorted([*(ROOT / "kvtui").rglob("*"), *(ROOT / "tests").rglob("*")]):
        another = file.name.startswith("test_") and file != at and at not in file.parents
        if file.is_file() and "__pycache__" not in file.parts and not another:
            yield file
