"""Files and names that CONTRIBUTING and README speak of are there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.packaging.source import ROOT

SPANS = re.compile(r"`([^`\n]+)`")
TEXTS = {name: (ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "README.md")}
DOTTED = re.compile(r"[a-z]\w*(\.\w+)+")
PLACES = ("", "kvtui/")  # as seen from the checkout, or from the package
ENDS = {".py", ".json", ".md", ".toml"}


def spoken_of(name: str) -> list[str]:
    text = re.sub(r"^```.*?^```", "", TEXTS[name], flags=re.MULTILINE | re.DOTALL)
    return [span.removeprefix("python -m ").split()[0] for span in SPANS.findall(text)]


def is_there(name: str) -> bool:
    """A file or folder, or an attribute of one of the modules."""
    if any((ROOT / place / name).exists() for place in PLACES):
        return True
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        folder = ROOT if parts[0] in ("kvtui", "tests") else ROOT / "kvtui"
        path = folder.joinpath(*parts[:cut])
        if path.with_suffix(".py").is_file() or (path / "__init__.py").is_file():
            module = import_module(".".join([*folder.relative_to(ROOT).parts, *parts[:cut]]))
            return cut == len(parts) or (cut == len(parts) - 1 and hasattr(module, parts[-1]))
    return False


def named(name: str) -> set[str]:
    """Paths with a folder, and dotted names of modules of ours."""
    ours = {path.stem for path in (ROOT / "kvtui").iterdir()} | {"kvtui", "tests"}
    return {
        span
        for span in spoken_of(name)
        if (re.fullmatch(r"[\w./-]+", span) and "/" in span and not span.startswith((".venv", "./", "n/a")))
        or (DOTTED.fullmatch(span) and span.partition(".")[0] in ours and Path(span).suffix not in ENDS)
    }


@pytest.mark.parametrize("name", TEXTS)
def test_what_it_names_is_there(name: str) -> None:
    assert len(named(name)) >= (20 if name == "CONTRIBUTING.md" else 1)
    assert [span for span in sorted(named(name)) if not is_there(span)] == []
