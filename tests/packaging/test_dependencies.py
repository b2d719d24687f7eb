"""CONTRIBUTING.md justifies every dependency, with the versions that pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from typing import NamedTuple

import pytest

from tests.packaging.source import ROOT


class Dependency(NamedTuple):
    name: str
    extra: str
    versions: str


def asked() -> set[Dependency]:
    """What pyproject.toml asks for, but for working on kvtui."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}
    found = set()
    for extra, requirements in extras.items():
        for requirement in requirements if extra != "dev" else ():
            name, versions = re.fullmatch(r"([\w.-]+?)([<>=!~][^;\s]*)(?:;.*)?", requirement.strip()).groups()
            found.add(Dependency(name, extra, versions))
    return found


def rows() -> dict[Dependency, tuple[str, str]]:
    """What CONTRIBUTING.md says of each: why, and the licence."""
    text = (
        (ROOT / "CONTRIBUTING.md")
        .read_text("utf-8")
        .partition("\n## Dependencies\n")[2]
        .partition("\n## ")[0]
    )
    lines = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in text.splitlines()]
    found = [cells for cells in lines if len(cells) == 5 and cells[0] not in ("package", "---")]
    assert len(found) == len({cells[0] for cells in found})
    return {Dependency(*cells[:3]): (cells[3], cells[4]) for cells in found}


def test_each_is_justified_in_one_line_with_its_versions() -> None:
    assert set(rows()) == asked()
    for (name, _, versions), (why, _) in rows().items():
        assert len(why) > 20, name
        assert versions.startswith(">="), f"{name} has no lower bound"
        assert "<" in versions or re.search(r"no upper bound|numbered by date|frozen", why), (
            f"{name}: no word on newer ones"
        )


@pytest.mark.parametrize("dependency", sorted(rows()), ids=lambda each: each.name)
def test_its_licence_is_the_one_it_has(dependency: Dependency) -> None:
    _, licence = rows()[dependency]
    assert licence in ("MIT", "BSD-3-Clause", "Apache-2.0", "PSF-2.0"), "permissive, and no other"
    try:
        said = metadata(dependency.name)
    except PackageNotFoundError:
        pytest.skip("not installed here")
    words = " ".join(
        [str(said.get("License-Expression")), str(said.get("License")), *said.get_all("Classifier", [])]
    )
    assert licence.split("-")[0] in words
