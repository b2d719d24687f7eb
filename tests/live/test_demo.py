"""The server that is none."""

from __future__ import annotations

from kvtui.live.demo import DemoPages
from kvtui.live.poll import Poller
from kvtui.live.servers import detect
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
