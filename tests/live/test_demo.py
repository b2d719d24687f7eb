"""The server that is none."""

from __future__ import annotations

import pytest

from kvtui.frames.counters import CounterReader
from kvtui.live.demo import DemoPages
from kvtui.live.poll import Poller
from kvtui.live.servers import detect
from kvtui.units import picoseconds
from tests.tui.stagecraft import small


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_is_read_like_any_server_and_starts_again() -> None:
    clock = Clock()
    pages = DemoPages(small("paged"), clock=clock)
    poller = Poller("demo", detect(pages), interval_s=0.5, clock=clock)
    running, finished = [], []
    for _ in range(150):
        clock.now += 0.5
        snapshot = poller.look()
        running.append(snapshot.reading.running.value)
        finished.append(snapshot.totals["finished"].value)
        assert 0 <= snapshot.reading.usage.value <= 1
    assert snapshot.restarts >= 1
    assert max(running) > 10
    assert finished == sorted(finished)
    assert finished[-1] > 60  # more than one run has: totals go on
    assert snapshot.reading.block_size.value == 16


def test_its_latencies_are_those_of_the_simulation() -> None:
    clock = Clock()
    experiment = small("paged")
    pages = DemoPages(experiment, clock=clock)
    poller = Poller("demo", detect(pages), interval_s=0.5, clock=clock)
    clock.now = 5.0
    ttft = poller.look().latency["ttft_s"]
    (lane,) = experiment.build(watched=False)
    while lane.next_ps < picoseconds(5.0):
        lane.step(1)
    true = CounterReader(lane.engine).read().ttft
    assert ttft.n == true.n > 10
    assert ttft.mean == pytest.approx(true.mean)
    assert ttft.p50 == pytest.approx(true.p50, rel=0.26)  # as wide as a bucket
