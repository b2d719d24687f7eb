"""Every format is one module with the names that the registry needs, imported when its turn comes."""

from __future__ import annotations

import subprocess
import sys

from kvtui.traces.registry import FORMATS, loaders


def test_every_format_is_a_loader() -> None:
    found = list(loaders())
    assert len(found) == len(FORMATS)
    for loader in found:
        assert isinstance(loader.name, str)
        assert isinstance(loader.title, str)
        assert callable(loader.matches)
        assert callable(loader.read)
    assert len({loader.title for loader in found}) == len(found)


def test_a_bundled_workload_loads_one_format_only() -> None:
    code = (
        "import sys; from kvtui.traces import load; from kvtui.traces.synthetic import path_of;"
        "load(str(path_of('chat'))); print(*sorted(m for m in sys.modules if m.startswith('kvtui.traces.')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "kvtui.traces.formats.native" in loaded
    assert "kvtui.traces.formats.otel" not in loaded
    assert "kvtui.traces.formats.azure" not in loaded
