"""Where the material beside a checkout lies, for the tests that compare with it."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"
needs_shared = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the reference material is not beside the checkout"
)
