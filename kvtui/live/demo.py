"""A server that is none: pages in the form of vLLM's, made by our own simulator in the time that passes.

For talks and for a look at the screen without a GPU. Whatever shows it says so.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from kvtui import __version__
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.frames.counters import CounterReader
from kvtui.live.fetch import FetchError
from kvtui.live.poll import now_s
from kvtui.live.whatif.tail import Known
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_S, picoseconds

NAME: Final = "demo"
MODEL: Final = "simulated"
_BOUNDS: Final = tuple(round(10 ** (power / 10), 4) for power in range(-30, 31))  # s, of latencies
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
        self._starts: list[float] = []
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
        if path == "/v1/models":
            return {"data": [{"id": MODEL, "max_model_len": self._experiment.length_limit}]}
        raise FetchError(f"{NAME} has no page {path}", status=404)

    def _begin(self) -> None:
        self._lane: Lane = self._experiment.build(watched=False)[-1]
        self._start = self._clock()
        self._starts.append(self._start)

    def requests(self) -> DemoRequests:
        """All that it gets."""
        return DemoRequests(self._experiment.workload, self._starts, self._clock)

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
        return "\n".join([*labelled, *lines[-2:], *_histograms(lane), ""])


def _histograms(lane: Lane) -> Iterator[str]:
    """Of latencies so far."""
    results = lane.engine.results
    for name, times in (("time_to_first_token", results.ttft), ("e2e_request_latency", results.e2e)):
        ends = np.searchsorted(np.sort(np.array(times) / PS_PER_S), _BOUNDS, side="right")
        for bound, count in zip(_BOUNDS, ends.tolist(), strict=True):
            yield f'vllm:{name}_seconds_bucket{{le="{bound}"}} {count}'
        yield f'vllm:{name}_seconds_bucket{{le="+Inf"}} {len(times)}'
        yield f"vllm:{name}_seconds_sum {sum(times) / PS_PER_S}"
        yield f"vllm:{name}_seconds_count {len(times)}"


class DemoRequests:
    """The requests of the simulated server as they come: of it, lengths are known at once."""

    name = NAME

    def __init__(self, workload: Workload, starts: Sequence[float], clock: Callable[[], float]) -> None:
        self.unit = workload.unit
        self.since_s = starts[0]
        self._workload = workload
        self._starts = starts
        self._clock = clock
        self._given = [0, 0]  # run, rows of it

    def doubts(self) -> Iterator[str]:
        """None."""
        return iter(())

    def take(self) -> tuple[list[Known], float]:
        now = self._clock()
        return list(self._until(now)), now

    def _until(self, now: float) -> Iterator[Known]:
        while True:
            run, row = self._given
            if row == len(self._workload):
                if run + 1 == len(self._starts):
                    return
                self._given = [run + 1, 0]
                continue
            known = self._known(run, row)
            if known.at_s >= now:
                return
            self._given[1] += 1
            yield known

    def _known(self, run: int, row: int) -> Known:
        workload = self._workload
        begin, end = workload.chain_start[row : row + 2].tolist() if workload.unit else (0, 0)
        return Known(
            self._starts[run] + int(workload.arrival_ns[row]) / 1e9,
            int(workload.prompt[row]),
            int(workload.output[row]),
            workload.chain[begin:end].tolist(),
            int(workload.identified[row]) if workload.unit else 0,
        )
