"""A package loaded late is there when it is used, and not before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FILES = {"__init__.py": "from latecomer import inner\nVALUE = inner.VALUE + 1\n", "inner.py": "VALUE = 41\n"}
BEFORE = "import sys\nfrom kvtui.cli.late import load_late\nload_late('latecomer')\n"
LOADED = "'latecomer.inner' in sys.modules"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"import latecomer\nimport latecomer as l\nprint({LOADED}, l.VALUE, {LOADED})", "False 42 True"),
        (f"from latecomer import VALUE\nprint(VALUE, {LOADED})", "42 True"),
        ("import latecomer.inner\nprint(latecomer.inner.VALUE, latecomer.VALUE)", "41 42"),
        (
            "import latecomer\ntry:\n    latecomer.nothing\nexcept AttributeError as e:\n    print(e)",
            "nothing",
        ),
        ("load_late('nobody_has_this')\nprint('nobody_has_this' in sys.modules)", "False"),
        ("import json\nload_late('json')\nprint(json.dumps(1))", "1"),
        ("load_late('numpy')\nimport numpy as np, numpy.typing\nprint(np.arange(3).sum())", "3"),
    ],
)
def test_late(tmp_path: Path, code: str, said: str) -> None:
    folder = tmp_path / "latecomer"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    path = f"sys.path.append({str(tmp_path)!r})\n"
    before = BEFORE.replace("import sys\n", f"import sys\n{path}")
    done = subprocess.run([sys.executable, "-c", before + code], capture_output=True, text=True, check=True)
    assert said in done.stdout
