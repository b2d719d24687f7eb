"""Traces written by the tests themselves, and the samples beside the project where they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvtui.traces import Workload, load
from tests.shared import SHARED

Read = Callable[..., Workload]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Write text or bytes to a file and load it; `name` is the file's."""

    def load_text(content: str | bytes, *, name: str = "trace", **options: Any) -> Workload:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return load(str(path), **options)

    return load_text


@pytest.fixture
def sample() -> Callable[[str], str]:
    """The path of a sample trace beside the project."""

    def path_of(name: str) -> str:
        path = SHARED / "traces" / name
        if not path.exists():
            pytest.skip("the sample traces are not beside the checkout")
        return str(path)

    return path_of
