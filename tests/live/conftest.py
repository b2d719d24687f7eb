from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.live.fake import Answers, serving, vllm_page


@pytest.fixture
def server() -> Iterator[Answers]:
    """A small vLLM that a test can break."""
    with serving({"/metrics": vllm_page()}) as answers:
        yield answers
