"""A server that is none: pages in the form of vLLM's, made by our own simulator in the time that passes.

For talks and for a look at the screen without a GPU. Whatever shows it says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from kvtui import __version__
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.frames.counters import CounterReader
from kvtui.live.fetch import FetchError
from kvtui.live.poll import now_s
from kvtui.units import picoseconds

NAME: Final = "demo"
MODEL: Final = "simulated"
_COUNTERS: Final = {
    "num_preemptions": "preemptions",
    "request_success": "finished",
    "generation_tokens": "output_tokens",
    "prefix_cache_queries": "query_tokens",
    "prefix_cache_hits": "hit_tokens",
}


class DemoPages:
    """Stands in for `fetch.Client`. The paged lane of the experiment runs in real time, and again from the
    start when it is through: as after a restart, with its counters at nothing."""

    name = NAME

    def __init__(self, experiment: Experiment, *, clock: Callable[[], float] = now_s) -> None:
        self._experiment = experiment
        self._clock = clock
        self._lock = threading.Lock()
        self._begin()

    def text(self, path: str) -> str:
        if path != "/metrics":
            raise FetchError(f"{NAME} has no page {path}", status=404)
        with self._lock:
            self._run()
            return self._page()

    def json(self, path: str) -> Any:
        if path == "/version":
            return {"version": f"kvtui {__version__}"}
        raise FetchError(f"{NAME} has no page {path}", status=404)

    def _begin(self) -> None:
        self._lane: Lane = self._experiment.build(watched=False)[-1]
        self._start = self._clock()

    def _run(self) -> None:
        """Up to the present."""
        until = picoseconds(self._clock() - self._start)
        while not self._lane.done and self._lane.next_ps < until:
            self._lane.step(1)
        if self._lane.done:
            self._begin()

    def _page(self) -> str:
        lane = self._lane
        counters = CounterReader(lane.engine).read()
        used = 1.0 - (counters.split.free + counters.split.cached) / 100
        lines = [
            f"vllm:num_requests_running {counters.running}",
            f"vllm:num_requests_waiting {counters.waiting}",
            f"vllm:kv_cache_usage_perc {used:.6f}",
            *(f"vllm:{name}_total {getattr(counters, key)}" for name, key in _COUNTERS.items()),
            f'vllm:cache_config_info{{block_size="{lane.info.block_size}",'
            f'num_gpu_blocks="{lane.info.blocks + 1}"}} 1',
            f"process_start_time_seconds {self._start}",
        ]
        labelled = [line.replace(" ", f'{{engine="0",model_name="{MODEL}"}} ', 1) for line in lines[:-2]]
        return "\n".join([*labelled, *lines[-2:], ""])
