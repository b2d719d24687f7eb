"""What a user installs: the wheel holds the package, its data and its licence, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from zipfile import ZipFile

import pytest

import kvtui
from tests.packaging.source import ROOT

DIST_INFO = f"kvtui-{kvtui.__version__}.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = folder.iterdir()
    return ZipFile(path)


def test_wheel_holds_every_file_of_package_and_workloads(wheel: ZipFile) -> None:
    expected = files("kvtui") | {f"kvtui/{name}" for name in files("workloads")}
    packed = {name for name in wheel.namelist() if not name.startswith(DIST_INFO)}
    assert packed == expected
    assert any(name.startswith("kvtui/workloads/") for name in packed)


def test_wheel_names_its_command_licence_and_python(wheel: ZipFile) -> None:
    metadata = wheel.read(f"{DIST_INFO}/METADATA").decode().splitlines()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: >=3.11" in metadata
    assert wheel.read(f"{DIST_INFO}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert "kvtui = kvtui.__main__:main" in wheel.read(f"{DIST_INFO}/entry_points.txt").decode()


def files(folder: str) -> set[str]:
    """Files below a top-level folder, relative to the root, without what running Python leaves behind."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in found if "__pycache__" not in path.parts}
