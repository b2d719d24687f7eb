"""Prefix cache and block tables of several groups: hits, what is worth caching, admission, windows."""

from __future__ import annotations

import collections
import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from tests.vllm.plain.groups import Group, groups_of
from tests.vllm.simulator import reference_simulator

ref = reference_simulator()
Line = dict[str, Any]
EAGLES = ("eagle", "eagle3", "mtp", "mtp_modules", "dflash")  # drafters that read the target's hidden states
MORE = {
    "spec_method": None,
    "num_speculative_tokens": 3,
    "layers": None,
    "kv_cache_layout": "LBNHC",
    "prefix_cache_retention_interval": 0,
}


class Req(ref.Req):  # type: ignore[misc,name-defined]
    """A request with drafts and several tables."""

    spec = 0  # drafts that wait to be verified
    prefilling = False  # at the end of the last step it was scheduled in
    boundary = 0  # where a longer prefix than the hit was seen
    accept: Iterator[int]
    drafts: Iterator[int]
    tables: list[list[int]]
    cached: list[int]  # blocks of each group that were offered to the cache


ref.Req = Req


def hash_of(parent: object, tokens: list[Any]) -> bytes:
    """A name for tokens behind a prefix."""
    return hashlib.sha1(repr((parent, tokens)).encode()).digest()


def script(numbers: Sequence[int]) -> Iterator[int]:
    """The numbers, the last one for ever."""
    yield from numbers
    while True:
        yield numbers[-1]


class Pool(ref.Pool):  # type: ignore[misc,name-defined]
    """Null blocks (id 0) pass through; a block may go by a second key."""

    def touch(self, blocks: list[int]) -> None:
        super().touch([b for b in blocks if b])

    def give_back(self, blocks: Iterator[int]) -> None:
        super().give_back([b for b in blocks if b])

    def name(self, block: int, key: Any, *, instead: bool) -> None:
        """Give a block a key; `instead` of the one it has, or beside it (such keys are never looked up)."""
        if self.hash[block] is not None and not instead:
            return
        if self.hash[block] is not None:
            peers = self.map[self.hash[block]]
            del peers[block]
            if not peers:
                del self.map[self.hash[block]]
        self.hash[block] = key
        self.map.setdefault(key, {})[block] = 1


class Tables(ref.Sim):  # type: ignore[misc,name-defined]
    """The part of the simulator that knows blocks."""

    def __init__(self, cfg: Line, rows: list[Line], *, newer: bool = False) -> None:
        """`newer` = the rules of vLLM 0.33."""
        super().__init__({**MORE, **cfg}, rows)
        self.newer = newer
        c = self.cfg
        k = c["num_speculative_tokens"] if c["spec_method"] else 0
        method = c["spec_method"]
        self.k = k
        self.lookahead = {"ngram": 0, None: 0, "dflash": k + 1}.get(method, k)
        self.draft_slots = {"draft_model": 1, "pard": k, "dflash": 0 if newer else k}.get(method, 0)
        ahead = {"mtp_modules": k}.get(method, 1 if method in EAGLES else 0)
        self.refill = max(0, ahead - 1)
        self.ahead = ahead
        self.proven = (
            ahead if newer and method != "dflash" else 0
        )  # tokens behind a block that its hash covers
        self.pool = Pool(c["num_gpu_blocks"], c["enable_prefix_caching"])
        self.groups = groups_of(c["layers"] or ["full"], c["block_size"])
        self.align = math.lcm(*(g.size for g in self.groups))  # of hits
        self.bs = math.gcd(*(g.size for g in self.groups))  # of hashes
        self._eagles(method)
        for g in self.groups:
            if g.window is not None:
                g.extra = self.refill
                flight = c["max_num_batched_tokens"] * (2 if c["async_scheduling"] else 1)
                g.cap = -(-min(g.window - 1 + g.extra + flight, c["max_model_len"]) // g.size) + 1
        self.after: Line = {}

    def _eagles(self, method: str | None) -> None:
        if method not in EAGLES or self.newer:
            return
        if len(self.groups) > 1 and method in ("mtp", "mtp_modules"):
            last = f"layer{len(self.cfg['layers']) - 1}"
            for g in self.groups:
                g.flagged = last in g.layers
            alike = {(g.window, g.size) for g in self.groups if g.flagged}
        else:
            alike = {(g.window, g.size) for g in self.groups}
        for g in self.groups:
            g.eagle = (g.window, g.size) in alike

    # ---- requests
    def add(self, row: Line, idx: int) -> tuple[list[str], list[str]]:
        added, rejected = super().add(row, idx)
        for id in added:
            r = self.live[id]
            r.accept = script(row.get("accept") or [0])
            r.drafts = script(row.get("drafts") or [self.k])
            known, out = row["output_tokens"], r.outf
            r.outf = lambda p, out=out, known=known, id=id: out(p) if p < known else ("past", id, p)
            self._empty(r)
        return added, rejected

    def _empty(self, r: Req) -> None:
        r.tables = [[] for _ in self.groups]
        r.cached = [0] * len(self.groups)

    def release(self, r: Req) -> None:
        for table in r.tables:
            self.pool.give_back(reversed(table))
        self._empty(r)

    def preempt(self, r: Req) -> None:
        super().preempt(r)
        r.spec = 0

    # ---- prefix cache
    def rehash(self, r: Req) -> None:
        if not self.proven:
            super().rehash(r)
            return
        while (len(r.hashes) + 1) * self.bs + self.proven <= len(r.toks) and self.cfg[
            "enable_prefix_caching"
        ]:
            start = len(r.hashes) * self.bs
            parent = r.hashes[-1] if r.hashes else r.salt
            r.hashes.append(hash_of(parent, r.toks[start : start + self.bs + self.proven]))

    def find(self, g: int, r: Req, at: int) -> int | None:
        """The block that holds block number `at` of the request in group `g`."""
        end = (at + 1) * self.groups[g].size // self.bs
        peers = self.pool.map.get((g, r.hashes[end - 1])) if end <= len(r.hashes) else None
        return next(iter(peers)) if peers else None

    def find_all(self, ids: list[int], r: Req, at: int) -> list[int] | None:
        found = [self.find(g, r, at) for g in ids]
        return None if None in found else found  # type: ignore[return-value]

    def from_left(self, ids: list[int], r: Req, most: int, drop: bool) -> tuple[list[list[int]], int]:
        """Full attention: the blocks cached from the start on."""
        size = self.groups[ids[0]].size
        rows: list[list[int]] = []
        while len(rows) < most // size and (found := self.find_all(ids, r, len(rows))) is not None:
            rows.append(found)
        tokens = len(rows) * size
        if drop and tokens:
            tokens -= size
        tokens -= tokens % self.align
        return [[row[j] for row in rows[: tokens // size]] for j in range(len(ids))], tokens

    def from_right(self, ids: list[int], r: Req, most: int, drop: bool) -> tuple[list[list[int]], int]:
        """Windows: the rightmost run that covers a window; at the very start a shorter run will do."""
        g = self.groups[ids[0]]
        assert g.window is not None
        proof = -(-(g.window - 1) // g.size) + drop
        blocks = most // g.size
        rows: list[list[int]] = [[0] * len(ids) for _ in range(blocks)]
        run, end = 0, None
        for at in range(blocks - 1, -1, -1):
            found = self.find_all(ids, r, at)
            if found is None:
                run = 0
                continue
            if run == 0 and (at + (not drop)) * g.size % self.align:
                continue
            rows[at] = found
            run += 1
            if run >= proof:
                end = at + run
                break
        del rows[run if end is None else end :]
        if end is None:
            while len(rows) * g.size % self.align:
                rows.pop()
        if drop and rows:
            rows.pop()
            while len(rows) * g.size % self.align:
                rows.pop()
        return [[row[j] for row in rows] for j in range(len(ids))], len(rows) * g.size

    def hits(self, r: Req) -> tuple[list[list[int]], int]:
        """Hit blocks of every group and the tokens they stand for; notes a longer prefix that was seen."""
        tables: list[list[int]] = [[] for _ in self.groups]
        r.boundary = 0
        if not self.cfg["enable_prefix_caching"] or r.skip:
            return tables, 0
        kinds: dict[tuple[int | None, int], list[int]] = collections.defaultdict(list)
        for i, g in enumerate(self.groups):
            kinds[g.window, g.size].append(i)
        specs = sorted(kinds.values(), key=lambda ids: self.groups[ids[0]].window is not None)
        if len(self.groups) == 1:
            g = self.groups[0]
            look = self.from_left if g.window is None else self.from_right
            return look([0], r, len(r.toks) - 1, g.eagle)
        return self._agreed(r, specs, tables)

    def _agreed(self, r: Req, specs: list[list[int]], tables: list[list[int]]) -> tuple[list[list[int]], int]:
        """The longest length on which all groups agree."""
        full = [ids for ids in specs if self.groups[ids[0]].window is None]
        simple = len(specs) == 2 and specs[0] in full
        length, longest, verified = len(r.toks) - 1, 0, set()
        reached: dict[int, int] = {}
        while True:
            now = length
            for ids in specs:
                g = self.groups[ids[0]]
                if ids in full and ids[0] in reached:
                    now = min(now, reached[ids[0]])
                    continue
                drop = g.eagle and ids[0] not in verified
                most = min(now + g.size, len(r.hashes) * self.bs) if drop else now
                look = self.from_left if ids in full else self.from_right
                found, got = look(ids, r, most, drop)
                if drop:
                    verified.add(ids[0])
                elif got < now:
                    verified.clear()
                now = reached[ids[0]] = got
                for j, table in zip(ids, found, strict=True):
                    tables[j] = table
                longest = max(longest, now)
            if now >= length:
                break
            length = now
            if simple:
                break
        for ids in full:
            for j in ids:
                del tables[j][-(-length // self.groups[j].size) :]
        r.boundary = longest if longest > length else 0
        return tables, length

    def cacheable(self, g: Group, tokens: int) -> int:
        """Of the first `tokens` tokens, those whose blocks are offered to the cache."""
        if len(self.groups) == 1:
            return max(0, tokens - self.refill)
        aligned = tokens // self.align * self.align
        if not g.eagle or not aligned:
            return aligned
        final = max(0, tokens - self.refill)
        return min(final, final // self.align * self.align + g.size)

    def kept(self, g: Group, r: Req, first: int, last: int) -> list[bool]:
        """Which of the full blocks [first, last) a later request could use."""
        if g.window is None:
            return [True] * (last - first)
        every = self.cfg["prefix_cache_retention_interval"]
        shift = int(g.eagle)
        segment = (self.align if every is None else every) // g.size
        if segment and g.proof >= segment:
            return [True] * (last - first)
        ends = (
            [b // self.align * self.align // g.size + shift for b in self.replays(r)]
            if every is not None
            else []
        )
        return [
            any(end - g.proof <= i < end for end in ends)
            or bool(segment and i >= shift and (i - shift) % segment >= segment - g.proof)
            for i in range(first, last)
        ]

    def replays(self, r: Req) -> list[int]:
        """Positions at which a request with the same prompt, or a longer one, would go on."""
        if any(g.eagle for g in self.groups):
            down = [(n // self.align - 1) * self.align for n in (r.plen - 1, r.plen)]
            found = [max(n, 0) for n in down]
        else:
            found = [r.plen - 1]
        return [*found, *([r.boundary] if r.boundary else [])]

    def commit(self, r: Req, n: int) -> None:
        """Offer the full blocks of the first n tokens to the cache."""
        if not self.cfg["enable_prefix_caching"]:
            return
        for j, g in enumerate(self.groups):
            tokens = min(self.cacheable(g, n), len(r.hashes) * self.bs)
            first, last = r.cached[j], tokens // g.size
            for at, keep in zip(range(first, last), self.kept(g, r, first, last), strict=False):
                if keep and r.tables[j][at]:
                    self.pool.name(
                        r.tables[j][at], (j, r.hashes[(at + 1) * g.size // self.bs - 1]), instead=True
                    )
            r.cached[j] = max(first, last)
            if g.window is None and g.size != self.bs:
                self._name_tail(r, j, g, tokens)

    def _name_tail(self, r: Req, j: int, g: Group, tokens: int) -> None:
        """The block in which the prompt ends goes by the prompt's last hash until it is full."""
        end = (r.plen if g.eagle else r.plen - 1) // self.bs * self.bs
        at = end // g.size
        if 0 < end <= tokens and end % g.size and at < len(r.tables[j]):
            self.pool.name(r.tables[j][at], (j, "tail", r.hashes[end // self.bs - 1]), instead=False)

    # ---- blocks
    def missing(self, g: Group, table: list[int], tokens: int, hits: list[int], at: int, capped: bool) -> int:
        """Blocks to be taken from the free queue so that `tokens` tokens have slots."""
        need = -(-tokens // g.size)
        if capped and g.cap is not None:
            need = min(need, g.cap)
        skipped = g.skipped(at)
        idle = sum(b != 0 and self.pool.ref[b] == 0 for b in hits[skipped:])
        return max(need - max(skipped, len(hits) + len(table)), 0) + idle

    def allocate(self, r: Req, n: int, hits: Any = None, admission: bool = False, tokens: int = 0) -> bool:
        c, pool = self.cfg, self.pool
        hits = hits or [[] for _ in self.groups]
        have = tokens if admission else r.computed
        water = self.water if admission and self.running else 0

        def total(upto: int, capped: bool) -> int:
            rows = zip(self.groups, r.tables, hits, strict=True)
            return sum(self.missing(g, table, upto, hit, have, capped) for g, table, hit in rows) + water

        whole = min(len(r.toks), c["max_model_len"])
        if admission and c["scheduler_reserve_full_isl"] and total(whole, True) > len(pool.free):
            return False
        slots = min(have + n + self.lookahead, c["max_model_len"])
        self.leave_window(r, max(0, have - r.inflight))
        if total(slots, False) > len(pool.free):
            return False
        for j, g in enumerate(self.groups):
            if admission:
                skipped = g.skipped(have)
                pool.touch(hits[j][skipped:])
                r.tables[j] = [0] * skipped + hits[j][skipped:]
                r.cached[j] = len(r.tables[j])
        for j, g in enumerate(self.groups):
            r.tables[j] += pool.take(max(-(-slots // g.size) - len(r.tables[j]), 0))
        self.commit(r, min(have + n, len(r.toks)))
        return True

    def leave_window(self, r: Req, tokens: int) -> None:
        """Put the null block in place of blocks that fell out of the window."""
        for g, table in zip(self.groups, r.tables, strict=True):
            gone = []
            for at in range(min(g.skipped(tokens), len(table)) - 1, -1, -1):
                if not table[at]:
                    break
                gone.append(table[at])
                table[at] = 0
            self.pool.give_back(iter(gone))
