"""Replaying a workload of which more and more becomes known, as when its requests are recorded right now.

A friend of the engine: it looks into its parts so that the engine need not know of it.
"""

from __future__ import annotations

from kvtui.serving.engine import Engine
from kvtui.serving.intake import Arrivals, BlockKeys
from kvtui.traces.workload import Workload


def extend(engine: Engine, workload: Workload, *, until_ps: int) -> None:
    """Let the engine go on to `until_ps` with `workload`: its former one with rows added, all of which arrive
    before `until_ps` and none before the time to which it was let go. It decides every step as if it had
    known them all from its start; `done` says that it has come that far, or has nothing to do until then."""
    added = len(workload) - len(engine.workload)
    results = engine.results
    for column in (results.first_token, results.finish):
        column.extend([-1] * added)
    engine.workload = workload
    if engine.manager.prefix_cache and workload.unit:
        ahead = engine.rules.speculation.keyed_ahead
        engine._keys = BlockKeys(workload, engine.manager.block_size, ahead=ahead, unmet=True)
    engine._coming = Arrivals(workload, engine.known + (engine._next is not None))
    if engine._next is None:
        engine._next = engine._coming.next()
    engine._until = until_ps
    engine.done = engine.stuck = False
