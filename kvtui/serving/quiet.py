"""Steps in which nothing happens but that tokens fill blocks which are there: no need to look at each."""

from __future__ import annotations

from kvtui.serving.engine import Engine


def quiet_steps(engine: Engine) -> int:
    """Steps from now on before the next one in which a request begins a block or ends, or anything is
    decided; an arrival can come before. Done in one leap they leave what single steps do."""
    scheduler, size = engine.scheduler, engine.manager.block_size
    alike = scheduler.leaps_observed and engine.manager.steady and engine.clock is None
    if not alike or not engine.undisturbed or scheduler.waiting or scheduler.horizon() < 2:
        return 0
    full = min(-request.stored(scheduler.step) % size for request in scheduler.running.values())
    return min(full, scheduler.horizon() - 1)
