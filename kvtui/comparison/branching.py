"""Branches: what if a setting were another one from here on?

A branch goes on as a server does that is started anew with the other setting: the queue is kept, nothing that
was stored is, and those that ran come first and are computed again. What was measured stays in its sums.
A friend of the engine: it looks into its parts so that the engine need not know of branches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.memory.levels import NOTHING
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request
from kvtui.units import seconds

BRANCHING = ("contiguous", "paged")


def branch(lane: Lane, experiment: Experiment, spec: LaneSpec) -> Lane:
    """A watched lane that goes on where `lane` stands, under `spec`. `lane` must be a copy: it is used up.

    Raises:
        ConfigError: a lane is of another kind, or results of the model are outstanding, as they always are
            with asynchronous scheduling.
    """
    old = lane.engine
    for each in (lane.spec, spec):
        manager = f"{each.manager} on a device" if each.measured else each.manager
        if manager not in BRANCHING:
            raise ConfigError(f"a lane of kind {manager} cannot be branched", hint=" or ".join(BRANCHING))
    if not old.scheduler.settled:
        raise ConfigError("with asynchronous scheduling there is no moment to branch from")
    fixed = replace(experiment, lanes=(spec,), max_len=old.rules.max_model_len)
    (new,) = fixed.build()
    new.info = replace(new.info, subtitle=f"{new.info.subtitle}, from {seconds(old.now_ps):,.1f} s")
    ran = len(old.scheduler.running)
    queue = [_anew(request, new) for request in _everybody(lane)]
    _take_over(lane, new, queue)
    new.inherit(lane, restarted=queue[:ran])
    return new


def _everybody(lane: Lane) -> Iterator[Request]:
    """Those that ran, in order of their admission, then the queue."""
    scheduler = lane.engine.scheduler
    plan = Plan(scheduler.step)
    for request in reversed([*scheduler.running.values()]):
        scheduler._preempt(plan, request, request, 0)
    return scheduler.waiting.first()


def _anew(request: Request, lane: Lane) -> Request:
    """The request as a server knows it that stores nothing of it."""
    fresh = Request(
        request.number,
        request.prompt,
        request.output,
        arrival=request.arrival,
        priority=request.priority,
        keys=lane.engine.keys_of(request.number),
        skip_lookup=request.skip_lookup,
    )
    fresh.rank, fresh.tie = request.rank, request.tie
    fresh.generated, fresh.preemptions = request.generated, request.preemptions
    fresh.phase = request.phase
    return fresh


def _take_over(lane: Lane, new: Lane, queue: list[Request]) -> None:
    """Clock, results, sums and what is still to come."""
    old, engine = lane.engine, new.engine
    engine.now_ps, engine.known, engine.results = old.now_ps, old.known, old.results
    engine._coming, engine._next, engine._loop = old._coming, old._next, old._loop
    engine._aborts, engine._live = old._aborts, {}
    engine._tokens = old.output_tokens
    engine._meter = old.meter
    engine._meter.set(old.now_ps, 0, 0, NOTHING, blocked=False)
    engine._meter.resize(engine.manager.blocks * engine.manager.block_size)
    scheduler = engine.scheduler
    scheduler.step, scheduler.prefix = old.scheduler.step, old.scheduler.prefix
    scheduler.spec = old.scheduler.spec
    for request in queue:
        refusal = engine._refusal(request)
        if refusal is not None:
            engine.results.refusals[request.number] = refusal
            continue
        scheduler.add(request)
        scheduler.preempted_waiting += request.phase is Phase.PREEMPTED
        if engine._aborts:
            engine._live[request.number] = request
