"""Leaps where state is explicit: steps in which every running request computes one token and nobody ends.

Nothing happens to a request between two boundaries of its blocks, so only those at a boundary are looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kvtui.memory.levels import Bought
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.request import Request


def steady_steps(running: Iterable[Request]) -> int:
    """How many steps go by in which every one of these requests just decodes, the token of the step before
    being on its way and not the first."""
    least: int | None = None
    for request in running:
        if (
            request.prefilling
            or request.stale
            or request.drafts
            or request.placeholders != 1
            or request.inflight != 1
            or request.known != request.computed
            or not request.generated
        ):
            return 0
        left = request.output - request.generated - 1
        least = left if least is None else min(least, left)
    return least or 0


def go_on(running: Collection[Request], manager: MemoryManager, steps: int, bought: Bought) -> int:
    """Up to `steps` such steps; returns how many memory sufficed for. Adds what each took to `bought`.

    Where a step fails in the middle, what it had granted stays granted: the full step that follows grants the
    same, in the same order.
    """
    done = steps if manager.reserves else _at_boundaries(running, manager, steps, bought)
    for request in running:
        request.computed += done
        request.generated += done
        request.cached = max(request.cached, request.computed - 1) if done else request.cached
    return done


def _at_boundaries(running: Iterable[Request], manager: MemoryManager, steps: int, bought: Bought) -> int:
    size = manager.block_size
    slots: list[list[Request]] = [[] for _ in range(size)]
    for request in running:
        slots[-request.computed % size].append(request)
    for step in range(steps):
        if not (takers := slots[step % size]):
            bought.blocks.append(0)
            bought.cached.append(0)
            continue
        before = manager.levels(None)
        for request in takers:
            if not _cross(request, manager, request.computed + step):
                return step
        after = manager.levels(None)
        bought.blocks.append((before.free - after.free) // size)
        bought.cached.append((before.cached - after.cached) // size)
    return steps


def _cross(request: Request, manager: MemoryManager, stored: int) -> bool:
    """The request, with `stored` tokens known and computed, begins a block: what is full can be found."""
    if not manager.grow(request, stored + 1):
        return False
    if stored > request.cached:
        manager.register(request, stored)
        request.cached = stored
    return True
