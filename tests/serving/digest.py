"""Everything that a run leaves behind, to compare runs with."""

from __future__ import annotations

import random
from typing import Any

from kvtui.serving.engine import UNLIMITED, Engine


class Price:
    """A cost model with every kind of term, in awkward numbers."""

    def step(self, decodes: int, decode_context: int, prefill: int, prefill_pairs: int) -> int:
        return 1009 + 7 * decodes + 3 * decode_context + 11 * prefill + 2 * prefill_pairs

    def leap(self, decodes: int, decode_context: int, steps: int) -> int:
        pairs = steps * (steps - 1) // 2
        return steps * (1009 + 7 * decodes + 3 * decode_context) + 3 * decodes * pairs


def run(engine: Engine, limit: int | None) -> dict[str, Any]:
    """Run to the end, at most `limit` steps a call (None = a random number), and digest what is left."""
    rng = random.Random(0)
    while engine.step(rng.randint(1, 9) if limit is None else limit):
        pass
    return digest(engine)


def digest(engine: Engine) -> dict[str, Any]:
    """What an engine has left behind so far."""
    scheduler, manager = engine.scheduler, engine.manager
    pool = getattr(manager, "pool", None)
    return {
        "now": engine.now_ps,
        "results": vars(engine.results),
        "meter": engine.meter.totals(),
        "prefix": scheduler.prefix,
        "preemptions": scheduler.preemptions,
        "step": scheduler.step,
        "queue": pool.queue() if pool else manager.placement.extents(),
        "evictions": manager.evictions,
        "running": [
            (r.number, r.table, r.taken, r.stored(scheduler.step)) for r in scheduler.running.values()
        ],
        "waiting": [r.number for r in scheduler.waiting.first()],
        "stuck": engine.stuck,
        "tokens": engine.output_tokens,
        "chunks": (engine.tally.chunks, engine.tally.same_step_hits),
        "blocked": scheduler.blocked,
    }


LIMITS = {"single steps": 1, "random": None, "unlimited": UNLIMITED}
