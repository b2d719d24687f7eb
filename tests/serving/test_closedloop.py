"""Closed loops: what is sent when others have ended, whatever the server, the step size or the way there."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.serving.engine import UNLIMITED, Engine
from kvtui.serving.request import Request
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_NS
from tests.serving import build

MS = 1_000_000  # ns


class Sent:
    """An observer that writes down when each request was sent and when it was refused or ended."""

    def __init__(self) -> None:
        self.at: dict[int, int] = {}
        self.over: dict[int, int] = {}
        self.most = 0

    def arrived(self, engine: Engine, request: Request) -> None:
        self.at[request.number] = request.arrival
        self.most = max(self.most, len(self.at) - len(self.over))

    def rejected(self, engine: Engine, request: Request) -> None:
        self.at[request.number] = self.over[request.number] = request.arrival

    def updated(self, engine: Engine, plan: Any) -> None:
        self.over |= dict.fromkeys((r.number for r in plan.finished), engine.now_ps)

    def idle(self, engine: Engine) -> None: ...
    def aborted(self, engine: Engine, request: Request) -> None: ...
    def scheduled(self, engine: Engine, plan: Any) -> None: ...


@st.composite
def conversations(draw: st.DrawFn) -> Workload:
    count = draw(st.integers(1, 25))
    asks = sorted((draw(st.integers(0, 400)) / 100, draw(st.integers(1, 90)), draw(st.integers(1, 30)))
                  for _ in range(count))  # fmt: skip
    follows = [draw(st.integers(-1, place - 1)) if draw(st.booleans()) else -1 for place in range(count)]
    waits = [draw(st.sampled_from((0, 1, 3 * MS, 500 * MS))) for _ in range(count)]
    return replace(
        build.workload(asks),
        follows=np.array(follows, np.int64),
        waits_ns=np.array(waits, np.int64),
        closed=True,
    )


def run(workload: Workload, *, blocks: int = 12, limit: int = UNLIMITED) -> tuple[Engine, Sent]:
    engine, sent = build.paged(workload, blocks, max_len=110), Sent()
    engine.observer = sent
    while engine.step(limit):
        pass
    return engine, sent


@settings(max_examples=80, deadline=None)
@given(conversations())
def test_a_turn_is_sent_when_the_turn_before_is_over(workload: Workload) -> None:
    _, sent = run(workload)
    assert sorted(sent.at) == sorted(sent.over) == list(range(len(workload)))
    assert workload.follows is not None
    assert workload.waits_ns is not None
    for number, before in enumerate(workload.follows.tolist()):
        expected = (
            int(workload.arrival_ns[number]) * PS_PER_NS
            if before < 0
            else sent.over[before] + int(workload.waits_ns[number]) * PS_PER_NS
        )
        assert sent.at[number] == expected


@settings(max_examples=60, deadline=None)
@given(conversations(), st.integers(1, 6), st.booleans())
def test_clients_hold_one_conversation_each(workload: Workload, clients: int, closed: bool) -> None:
    workload = replace(workload, clients=clients, closed=closed)
    _, sent = run(workload)
    assert sorted(sent.over) == list(range(len(workload)))
    if not closed:
        assert sent.most <= clients
        begun = min(clients, len(workload))
        assert [sent.at[number] for number in range(begun)] == [0] * begun
        ends = sorted(sent.over.values())
        # The next request is sent exactly when one ends.
        assert (
            sorted(sent.at[number] for number in range(begun, len(workload))) == ends[: len(workload) - begun]
        )


@settings(max_examples=40, deadline=None)
@given(conversations(), st.integers(0, 3))
def test_leaps_change_nothing(workload: Workload, clients: int) -> None:
    workload = replace(workload, clients=clients)
    leaping, stepping = run(workload), run(workload, limit=1)
    assert leaping[0].now_ps == stepping[0].now_ps
    assert leaping[1].at == stepping[1].at
    assert leaping[0].results.finish == stepping[0].results.finish


@settings(max_examples=20, deadline=None)
@given(conversations(), st.integers(0, 3), st.integers(0, 60))
def test_a_saved_engine_goes_on_alike(workload: Workload, clients: int, steps: int) -> None:
    engine = build.paged(replace(workload, clients=clients), 12, max_len=110)
    for _ in range(steps):
        engine.step()
    again = pickle.loads(pickle.dumps(engine))
    engine.run()
    again.run()
    assert again.now_ps == engine.now_ps
    assert again.results.finish == engine.results.finish


def test_a_slower_server_is_asked_later() -> None:
    load = build.workload([(0.0, 40, 20), (0.0, 40, 20), (0.1, 60, 10)])
    load = replace(load, follows=np.array([-1, 0, 1]), waits_ns=np.array([-1, 0, 10 * MS]), closed=True)
    roomy, tight = run(load, blocks=20)[1], run(load, blocks=20, limit=1)[1]
    assert roomy.at == tight.at
    assert roomy.at[1] > 0
    assert roomy.at[2] == roomy.over[1] + 10 * MS * PS_PER_NS
