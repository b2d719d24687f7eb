"""A plain, slow simulator of speculative decoding, sliding windows and hybrids, written from the rules alone.

It stands on the reference simulator (which lies beside the shared oracle) and is checked against the real
scheduler: the recordings in `test_more.py`, thousands of random worlds with `python -m tests.vllm.campaign
--reference --kind spec`. Where vLLM is not installed it is a quick second oracle. Formats: `oracle_more.py`.
Rules of vLLM 0.32, or of 0.33 when asked.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.vllm.plain.cache import Line, Req, Tables


@dataclass
class Pass:
    """What is left of the budgets, and what a step decided so far."""

    budget: int
    inputs: int
    cap: int
    sched: dict[str, int] = field(default_factory=dict)
    spec: dict[str, int] = field(default_factory=dict)
    padded: list[str] = field(default_factory=list)
    hit: dict[str, int] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    prefilling: bool = False  # a running request in mid-prompt got tokens


class Sim(Tables):
    """The reference simulator with drafts and groups."""

    # ---- the step
    def schedule(self) -> tuple[Line, Any]:
        c = self.cfg
        self.preempt_log, self.pool.evicted = [], []
        there = len(self.running) + self.nwait()
        cap = c["long_prefill_token_threshold"] if there > 1 else 0
        if cap and c["long_prefill_token_threshold_adaptive"]:
            cap = max(cap, c["max_num_batched_tokens"] // there)
        inputs = c["max_num_batched_tokens"]
        p = Pass(c["max_num_scheduled_tokens"] or inputs, inputs, cap)
        before = {r.id: [t[:] for t in r.tables] for r in self.running}
        self._serve(p)
        stats: collections.Counter[str] = collections.Counter()
        if not self.preempt_log:
            self._admit(p, stats)
        line = self._line(p, before)
        for id, n in p.sched.items():
            r = self.live[id]
            r.computed += n
            r.inflight += n
            r.prefilling = r.computed < len(r.toks) + r.placeholders
            if c["async_scheduling"] and not r.prefilling:
                r.placeholders += 1 + p.spec.get(id, 0)
                r.spec = self.k
        self._pass = p
        return line, stats

    def _want(self, r: Req, p: Pass) -> int:
        n = len(r.toks) + r.spec + r.placeholders - r.computed
        if 0 < p.cap < n:
            n = p.cap
        n = min(n, p.budget, p.inputs - self.draft_slots, self.cfg["max_model_len"] - r.computed - 1)
        return self._runway(r, r.computed, n)

    def _runway(self, r: Req, computed: int, n: int) -> int:
        """Never leave fewer tokens of the prompt than the drafter reads ahead."""
        rest = len(r.toks) - computed - n
        return max(n - (self.ahead - rest), 0) if 0 < rest < self.ahead else max(n, 0)

    def _serve(self, p: Pass) -> None:
        i = 0
        while i < len(self.running) and p.budget > 0 and p.inputs > self.draft_slots:
            r = self.running[i]
            i += 1
            if r.placeholders and r.computed + 2 - r.placeholders >= r.plen + r.maxtok:
                continue
            n = self._want(r, p)
            if n == 0:
                continue
            while not self.allocate(r, n):
                v = max(self.running, key=lambda x: (x.prio, x.at)) if self.prio else self.running[-1]
                at = self.running.index(v)
                del self.running[at]
                i -= at < i
                given = p.sched.pop(v.id, 0)
                p.budget += given
                p.inputs += given + self.draft_slots if given else 0
                p.spec.pop(v.id, None)
                self.preempt(v)
                if v is r:
                    break
            if r.status == "PREEMPTED" and not (self.newer and self.prio):
                return
            if r.status == "PREEMPTED":
                continue  # behind it stand more urgent ones
            p.prefilling |= r.prefilling
            p.sched[r.id] = n
            p.budget -= n
            p.inputs -= n + self.draft_slots
            drafts = min(n + r.computed - len(r.toks) - r.placeholders, r.spec)
            if drafts > 0:
                p.spec[r.id] = drafts
            r.spec = 0

    def _admit(self, p: Pass, stats: Any) -> None:
        served = bool(p.sched)
        later = []
        limit = self.cfg["max_num_active_seqs"] or self.cfg["max_num_seqs"]
        while p.budget > 0 and self.nwait() and p.inputs > self.draft_slots and len(self.running) < limit:
            r = self.peek()
            if r.stale:
                later.insert(0, self.pop())
                continue
            hits, tokens = self.hits(r)
            room = min(p.budget, p.inputs - self.draft_slots)
            n, padded = self._first(r, tokens, room, p, served)
            if n == 0 and self.newer:
                later.insert(0, self.pop())
                continue
            if not n or not self.allocate(r, n, hits, admission=True, tokens=tokens):
                break
            self.note(stats, r, tokens)
            self.pop()
            self.running.append(r)
            (p.resumed if r.status == "PREEMPTED" else p.new).append(r.id)
            r.status, r.computed = "RUNNING", tokens
            p.sched[r.id], p.hit[r.id] = n, tokens
            p.budget -= n
            p.inputs -= n + self.draft_slots
            if padded:
                p.spec[r.id] = self.k
                p.padded.append(r.id)
        for r in later:
            self.push(r, front=True)

    def _first(self, r: Req, tokens: int, room: int, p: Pass, served: bool) -> tuple[int | None, bool]:
        """Tokens for an admission, and whether drafts are made up for it; None = it has to wait."""
        n, padded = len(r.toks) - tokens, False
        wide = 1 + self.k
        lone = self.k and n == 1 and not p.prefilling and (served or tokens)
        if lone and tokens + wide + 1 <= self.cfg["max_model_len"]:
            if wide > room:
                return None, False
            n, padded = wide, True
        if 0 < p.cap < n:
            n = p.cap
        if n > room and not self.cfg["enable_chunked_prefill"]:
            return None, False
        return self._runway(r, tokens, min(n, room)), padded

    def note(self, stats: Any, r: Req, tokens: int) -> None:
        if self.cfg["enable_prefix_caching"] and not r.skip:
            again = "preempted_" if r.preempted else ""
            stats[again + "requests"] += 1
            stats[again + "queries"] += len(r.toks)
            stats[again + "hits"] += tokens

    def _line(self, p: Pass, before: dict[str, list[list[int]]]) -> Line:
        batch = [self.live[id] for id in p.sched]
        old = {r.id: [[] for _ in self.groups] if r.id in p.hit else before[r.id] for r in batch}
        added = {r.id: [t[len(o) :] for t, o in zip(r.tables, old[r.id], strict=True)] for r in batch}
        line: Line = {
            "scheduled": p.sched,
            "new": p.new,
            "resumed": p.resumed,
            "preempted": self.preempt_log,
            "computed": {r.id: r.computed for r in batch},
            "hit": p.hit,
            "blocks": {r.id: [len(t) for t in r.tables] for r in batch},
            "new_blocks": {id: a for id, a in added.items() if any(a)},
            "evicted": self.pool.evicted,
            "running": [r.id for r in self.running],
            "waiting": self.wait_ids(),
            "free": len(self.pool.free),
            "usage": self.pool.usage(),
        }
        if self.cfg["layers"] is None:
            line["blocks"] = {id: lengths[0] for id, lengths in line["blocks"].items()}
            line["new_blocks"] = {id: ids[0] for id, ids in line["new_blocks"].items()}
        else:
            line["tables"] = {r.id: [t[:] for t in r.tables] for r in batch}
            gone = {
                r.id: [
                    [i for i, b in enumerate(o) if b and not t[i]]
                    for t, o in zip(r.tables, old[r.id], strict=True)
                ]
                for r in batch
            }
            line |= {"nulled": some} if (some := {id: g for id, g in gone.items() if any(g)}) else {}
        spec = {id: p.spec[id] for id in p.sched if id in p.spec}
        return line | {k: v for k, v in (("spec", spec), ("padded", p.padded)) if v}

    # ---- the models
    def model(self, sched: dict[str, int]) -> list[Any]:
        """(id, tokens scheduled, drafts scheduled, tokens returned, drafts for the next step)."""
        out = []
        for id, n in sched.items():
            r = self.live[id]
            drafts = self._pass.spec.get(id, 0)
            tokens: list[Any] = []
            if not r.prefilling:
                right = 0
                if drafts and id not in self._pass.padded:
                    right = min(next(r.accept), drafts)
                for _ in range(1 + right):
                    last = r.maxtok > r.nout and r.emitted == r.nout - 1
                    tokens.append("EOS" if last else r.outf(r.emitted))
                    r.emitted += 1
            following = min(next(r.drafts), self.k) if tokens and not self.cfg["async_scheduling"] else 0
            out.append((id, n, drafts, tokens, following))
        return out

    def update(self, answers: list[Any]) -> dict[str, str]:
        finished: dict[str, str] = {}
        gone: list[Req] = []
        came: dict[str, int] = {}
        rejected: dict[str, int] = {}
        verified: list[tuple[int, int]] = []
        for id, n, drafts, tokens, _ in answers:
            r = self.live.get(id)
            if r is None:
                continue
            r.inflight -= n
            stale = r.stale > 0
            r.stale -= n if stale else 0
            if drafts and tokens:
                wrong = drafts - (len(tokens) - 1)
                verified.append((drafts, drafts - wrong))
                if not stale and wrong and r.computed:
                    r.computed -= wrong
                    rejected[id] = wrong
                r.placeholders -= wrong if not stale and r.placeholders else 0
            if tokens:
                before = r.computed
                came[id], reason = self._append(r, tokens, stale)
                if r.computed < before:
                    rejected[id] = rejected.get(id, 0) + before - r.computed
                if reason:
                    finished[id] = reason
                    gone.append(r)
                    self.release(r)
                    del self.live[id]
        self.running = [r for r in self.running if r not in gone]
        for r in gone:
            if r.status == "PREEMPTED":
                self.drop_waiting(r)
        if not self.cfg["async_scheduling"]:
            for id, *_, tokens, following in answers:
                if id in self.live and tokens:
                    self.live[id].spec = following
        self._tell(came, rejected, verified)
        return finished

    def _append(self, r: Req, tokens: list[Any], stale: bool) -> tuple[int, str | None]:
        reason, count = None, 0
        for token in tokens:
            r.toks.append(token)
            count += 1
            if token == "EOS":
                reason = "stop"
            elif len(r.toks) >= self.cfg["max_model_len"] or len(r.toks) - r.plen >= r.maxtok:
                reason = "length"
            if reason:
                break
        self.rehash(r)
        if self.newer:
            self._settle(r, len(tokens), len(tokens) - count, stale)
        elif self.cfg["async_scheduling"]:
            r.placeholders -= 0 if stale else count
            if r.status == "RUNNING":
                self.commit(r, r.computed - r.placeholders)
        return count, reason

    def _settle(self, r: Req, returned: int, trimmed: int, stale: bool) -> None:
        """0.33: what is certain is offered to the cache as soon as the answer is there, drafts included."""
        awaited = r.placeholders > 0
        if stale:
            return
        r.computed -= trimmed
        r.placeholders -= returned if awaited else 0
        if r.status == "RUNNING" and (awaited or self.k):
            self.commit(r, r.computed - r.inflight)

    def _tell(self, came: dict[str, int], rejected: dict[str, int], verified: list[tuple[int, int]]) -> None:
        if not self.k:
            return
        waiting = {r.id: r.spec for r in self.running if r.spec}
        stats = {
            "num_drafts": len(verified),
            "num_draft_tokens": sum(drafts for drafts, _ in verified),
            "num_accepted_tokens": sum(right for _, right in verified),
        }
        odd = {id: n for id, n in came.items() if n != 1}
        rows = (("emitted", odd), ("rejected_drafts", rejected), ("drafted", waiting))
        self.after = {name: value for name, value in rows if value} | (
            {"spec_stats": stats} if verified else {}
        )

    def run(self) -> Iterator[Line]:
        told = self.cfg["layers"] is None
        for line in super().run():
            if "end" in line:
                line |= self.after
                if not told:
                    line["groups"] = [
                        [
                            "full" if g.window is None else "sliding",
                            g.window,
                            g.size,
                            len(g.layers),
                            g.flagged,
                        ]
                        for g in self.groups
                    ]
                    told = True
            self.after = {}
            yield line
