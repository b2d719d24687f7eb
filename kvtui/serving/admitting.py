"""Rounds in which prompts come in: admission by the rules, and what a full step takes."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.memory.hits import NO_HITS
from kvtui.serving.request import Phase, Request
from kvtui.serving.rounds import Rounds
from kvtui.serving.tally import Part


class AdmittingRounds(Rounds):
    """What plain and asynchronous rounds have in common in a full step."""

    def _admissions(self, parts: list[Part], left: int) -> list[tuple[Request, int]]:
        """Who comes in, with `left` tokens; their parts go to `parts`. Gives who found how many tokens. Where
        nothing is shared or reserved the manager need not be asked."""
        scheduler, manager, pool, size = self._scheduler, self._manager, self._pool, self._size
        waiting, running, rules, asked = self._waiting, scheduler.running, scheduler.rules, manager.reserves
        limit, full = rules.running_limit, rules.reserve_full
        hits: list[tuple[Request, int]] = []
        scheduler.blocked, scheduler._wish, scheduler._tried = False, None, None
        while waiting and left > 0 and len(running) < limit:
            request = waiting.head()
            n = known = request.prompt + request.generated
            hit, found = 0, NO_HITS
            if request.keys or request.lost:
                found = manager.lookup(request)
                hit = found.tokens
                n -= hit
            if scheduler._recounts:  # every look-up counts
                scheduler._count(request, hit)
            if n > left:
                if not rules.enable_chunked_prefill:
                    scheduler._refuse(request, found)
                    scheduler.blocked = not parts
                    break
                n = left
            watermark = scheduler._watermark if running else 0
            if request.keys or hit or asked:
                fits = manager.admit(request, found, n, watermark=watermark, reserve_full=full)
            elif fits := -(-(known if full else n) // size) + watermark <= pool.free:
                request.table = pool.take(-(-n // size))
                request.lost = []
            if not fits:
                scheduler._refuse(request, found)
                break
            waiting.take()
            self._seat(request, hit)
            parts.append((request, hit, n))
            left -= n
            if hit:
                hits.append((request, hit))
        if len(running) > self._meter.peak:
            self._meter.peak = len(running)
        return hits

    def _seat(self, request: Request, hit: int) -> None:
        """Into the batch, in mid-prompt."""
        scheduler = self._scheduler
        if request.preemptions or hit or scheduler._recounts:
            scheduler.preempted_waiting -= request.phase is Phase.PREEMPTED
            if not scheduler._recounts:
                scheduler._count(request, hit)
        elif self._counted and not request.skip_lookup:
            scheduler.prefix.requests += 1
            scheduler.prefix.queries += request.prompt
        request.phase = Phase.RUNNING
        request.chunking = True
        request.order = order = scheduler._orders
        scheduler._orders = order + 1
        scheduler.running[order] = request
        scheduler.final += request.prompt + request.output + self._manager.beside

    def _measured(
        self,
        decodes: int,
        context: int,
        parts: Sequence[Part],
        hits: Sequence[tuple[Request, int]],
        stored: int,
    ) -> int:
        """Take down a step in which so many decodes read so much context and `parts` of prompts are computed,
        and at whose end what decodes have `stored` is there, and the parts. Gives the time that it takes."""
        engine = self._engine
        tokens = pairs = 0
        for _, start, n in parts:
            stored += start + n
            tokens += n
            pairs += n * start + n * (n + 1) // 2
        if hits:
            engine.tally.find(parts, hits, self._size)
        dt = engine.cost.step(decodes, context, tokens, pairs)
        self._stand(dt, len(self._scheduler.running), stored)
        return dt
