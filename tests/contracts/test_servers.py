"""What every kind of server promises: whatever its pages hold, there is a reading or one documented error.

A new kind is added to `kvtui.live.servers.KINDS`, and to METRICS and PATHS what it is known by.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import KvtuiError
from kvtui.live.fetch import FetchError
from kvtui.live.reading import Reading
from kvtui.live.servers import KINDS, detect

METRICS = (
    "vllm:num_requests_running",
    "vllm:kv_cache_usage_perc",
    "vllm:num_preemptions_total",
    "sglang:num_running_reqs",
    "sglang:token_usage",
    "tgi_batch_current_size",
    "tgi_queue_size",
    "trtllm_kv_cache_utilization",
    "nv_trt_llm_kv_cache_block_metrics",
    "llamacpp:requests_processing",
    "llamacpp:kv_cache_usage_ratio",
)
PATHS = (
    *("/metrics", "/version", "/v1/models", "/props", "/slots", "/v1/loads", "/server_info", "/info"),
    *("/get_server_info", "/api/ps", "/api/version", "/kv_cache_events"),
)
KEYS = ("id", "n_ctx", "is_processing", "models", "name", "size", "size_vram", "loads", "num_running_reqs")
numbers = st.one_of(st.integers(-5, 10**6), st.floats(), st.just(10**400))
jsons = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=5)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
lines = st.builds("{}{} {}".format, st.sampled_from(METRICS), st.sampled_from(["", '{engine="0"}']), numbers)
pages = st.fixed_dictionaries(
    {"/metrics": st.lists(lines, max_size=6).map("\n".join)},
    optional={path: jsons.map(json.dumps) for path in PATHS[1:]},
)


class Answers:
    """A server that answers with these pages, and that there is nothing else."""

    name = "http://test"

    def __init__(self, pages: dict[str, str]) -> None:
        self._pages = pages

    def text(self, path: str) -> str:
        if path not in self._pages:
            raise FetchError(f"{self.name}{path} is not there", status=404)
        return self._pages[path]

    def json(self, path: str) -> Any:
        try:
            return json.loads(self.text(path))
        except ValueError:
            raise FetchError(f"{self.name}{path} is not JSON") from None


@settings(max_examples=150, deadline=None)
@given(pages=pages)
def test_whatever_it_publishes_is_read_or_refused(pages: dict[str, str]) -> None:
    for detect_kind in KINDS:
        try:
            server = detect_kind(Answers(pages), pages["/metrics"])
            reading = server.read() if server is not None else None
        except KvtuiError:
            continue
        if reading is not None:
            check(reading)


def check(reading: Reading) -> None:
    """Figures are finite or unknown, and nothing counts below zero."""
    shares = (reading.usage, reading.cached, reading.hit_rate)
    counts = (reading.running, reading.waiting, reading.blocks, reading.block_size, reading.pool_tokens)
    for number in (*shares, *counts):
        assert number.value is None or (isfinite(number.value) and number.value >= 0)


def test_a_kind_is_told_by_its_own_pages_alone() -> None:
    with pytest.raises(KvtuiError, match="publishes nothing"):
        detect(Answers({"/metrics": "other_metric 1"}))
    known = {"vllm:num_requests_running": "vllm", "sglang:num_running_reqs": "sglang"}
    for metric, kind in known.items():
        assert detect(Answers({"/metrics": f'{metric}{{model_name="m"}} 3\n'})).read().kind == kind
