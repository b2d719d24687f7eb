"""Scheduling by the rules of vLLM as of the PagedAttention paper (Kwon et al., SOSP 2023).

A request is a group of sequences that are scheduled together or not at all. First come, first served: running
groups get their next tokens in order of arrival, and where blocks run out the latest arrival gives way. Whole
prompts join the same step, behind groups that were swapped out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from kvtui.groups.beams import BeamTree
from kvtui.groups.request import GroupRequest
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.serving.plan import Plan
from kvtui.serving.request import Phase, Request
from kvtui.serving.rules import Rules
from kvtui.serving.scheduler import Scheduler


class Group:
    """One request that runs, or did and will: all its sequences are of the same length."""

    __slots__ = ("beams", "sequences", "swapped")

    def __init__(self, request: Request) -> None:
        self.sequences = [request]  # the first one stands for the request in queues and results
        self.beams = BeamTree(request.number, request.width) if request.beams else None
        self.swapped = False  # what it has is in host memory; else it is to be computed again

    @property
    def request(self) -> Request:
        return self.sequences[0]


class GroupScheduler(Scheduler):
    """`preempt`: what becomes of the blocks of a group that gives way. `recompute` drops them, `swap` copies
    them to host memory as long as there is room, `auto` swaps groups of several sequences, as the paper does.
    Clients stay: no group is aborted.
    """

    def __init__(self, rules: Rules, manager: ForkingMemoryManager, *, preempt: str = "auto") -> None:
        super().__init__(rules, manager)
        self._memory = manager
        self._preempt_by = preempt
        self.groups: dict[int, Group] = {}  # running, by request number
        self._aside: deque[Group] = deque()  # preempted ones that do not stand in the queue, by arrival
        self._searching = 0  # running groups with beams

    # ---- asking

    @property
    def batch(self) -> int:
        return len(self.groups)

    @property
    def active(self) -> bool:
        return super().active or bool(self._aside)

    def horizon(self) -> int:
        if self._searching or self._memory.pending or (self._aside and not self.blocked):
            return 0
        return super().horizon()

    # ---- tokens appear

    def commit(self, plan: Plan) -> None:
        super().commit(plan)
        if self._searching:
            for group in self.groups.values():
                if group.beams is not None:
                    self._branch(plan, group.sequences, group.beams)

    def end_decodes(self, also: Iterable[Request] = ()) -> Sequence[Request]:
        ended = super().end_decodes(also)
        return [request for request in ended if not request.sequence] if ended else ended

    def _first_token(self, plan: Plan, request: Request, ending: list[Request]) -> None:
        super()._first_token(plan, request, ending)
        if request.width > 1 and request.generated == 1:
            plan.tokens += request.width - 1
            if request.output > 1:
                self._fork(plan, request)

    def _fork(self, plan: Plan, request: Request) -> None:
        """The first token of every further sequence appeared: from here on they differ."""
        group = self.groups[request.number]
        assert isinstance(request, GroupRequest)
        for number in range(1, request.width):
            child = request.sibling(number)
            self._memory.fork_request(request, child, request.computed)
            group.sequences.append(child)
            self._join(child, plan.step + 1)
        request.siblings = group.sequences
        stored = request.stored(self.step)
        plan.forks = [*plan.forks, *((s, request, stored) for s in group.sequences[1:])]

    def _branch(self, plan: Plan, sequences: Sequence[Request], beams: BeamTree) -> None:
        """Beams that lost are pruned; those that won several times are forked."""
        stored = sequences[0].stored(self.step)
        generated = stored + 1 - sequences[0].prompt
        if generated < 2:
            return
        moves = [
            (sequences[at], sequences[parent])
            for at, parent in enumerate(beams.parents(generated))
            if parent != at
        ]
        if moves:
            self._memory.branch(moves, stored)
            plan.forks = [*plan.forks, *((s, parent, stored) for s, parent in moves)]

    def _end(self, request: Request) -> None:
        super()._end(request)
        if not request.sequence:
            self._forget(self.groups[request.number])

    # ---- the running pass: everybody, or in order of arrival as far as the blocks go

    def _walk(self, plan: Plan, cap: int | None, budget: int) -> int:
        batch = sorted(self.groups.values(), key=_rank)
        at = 0
        while at < len(batch):
            group = batch[at]
            while not self._memory.serve_group(self.step, group.sequences):
                victim = batch.pop()
                self._give_way(plan, victim, group)
                if victim is group:
                    break
            at += 1
        return budget - len(self.running)

    def _give_way(self, plan: Plan, group: Group, served: Group) -> None:
        request = group.request
        swaps = self._preempt_by == "swap" or (self._preempt_by == "auto" and request.width > 1)
        held = request.blocks_held
        moved = self._swap_out(group) if swaps else None
        self._forget(group)
        if moved is None and request.width == 1:
            super()._preempt(plan, request, served.request, 0)
            return
        if moved is None:
            for sequence in group.sequences:
                self._rest(sequence)
                self._memory.release(sequence, 0)
                sequence.computed = 0
        group.swapped = moved is not None
        if moved is not None:
            plan.swapped = [*plan.swapped, request]
            plan.swapped_out += moved
        plan.preempted = [*plan.preempted, (request, served.request, held)]
        request.preemptions += 1
        self.preemptions += 1
        self.preempted_waiting += 1
        self._aside.appendleft(group)  # later arrivals went before
        self._show_aside()

    def _swap_out(self, group: Group) -> int | None:
        moved = self._memory.swap_out(group.sequences)
        if moved is not None:
            for sequence in group.sequences:
                self._rest(sequence)
        return moved

    def _rest(self, sequence: Request) -> None:
        """Out of the batch, with what it knows."""
        sequence.computed = sequence.stored(self.step)
        sequence.generated = sequence.computed + 1 - sequence.prompt
        self._leave(sequence)
        sequence.move(Phase.PREEMPTED)

    # ---- the waiting pass: who was preempted comes back first

    def _admissions(self, plan: Plan, cap: int | None, left: int) -> None:
        while self._aside:
            group = self._aside[0]
            used = self._swap_in(plan, group) if group.swapped else self._recompute(plan, group, left)
            if not used:
                self.blocked = True
                return
            self._aside.popleft()
            self._show_aside()
            self._enlist(group)
            plan.returned = [*plan.returned, (group.request, 0 if group.swapped else used)]
            self.preempted_waiting -= 1
            left -= used
        super()._admissions(plan, cap, left)

    def _swap_in(self, plan: Plan, group: Group) -> int:
        """Bring a group back from host memory; gives the tokens it computes in this step, 0 = it stays."""
        memory, request, width = self._memory, group.request, len(group.sequences)
        # Besides what it had, a slot for the next token of each sequence. Its seats nobody has taken.
        if memory.away(request.number) + width + self._reserve > memory.free_blocks:
            return 0
        plan.swapped_in += memory.swap_in(group.sequences, request.computed)
        for sequence in group.sequences:
            self._join(sequence, self.step)
        served = memory.serve_group(self.step, group.sequences)
        assert served, "its blocks were counted"
        return width

    def _recompute(self, plan: Plan, group: Group, left: int) -> int:
        """Compute all sequences of a group again; gives the tokens that takes, 0 = it stays."""
        first, *others = group.sequences
        size = self._memory.block_size
        tokens = first.known + len(others) * (first.known - first.prompt // size * size)
        whole = left == self.rules.token_budget  # larger groups get a step for themselves
        if (tokens > left and not whole) or not self._memory.readmit(
            group.sequences, watermark=self._reserve
        ):
            return 0
        for sequence in group.sequences:
            sequence.move(Phase.RUNNING)
            self._seat(sequence)
            plan.prefill = [*plan.prefill, (sequence, sequence.computed, sequence.known - sequence.computed)]
        return tokens

    def _candidate(self) -> Request | None:
        request = super()._candidate()
        if request is None:
            return None
        seats = sum(group.request.width for group in self.groups.values())
        return request if seats + request.width <= self.rules.running_limit else None

    def _take_in(self, plan: Plan, request: Request, hit: int, tokens: int) -> None:
        super()._take_in(plan, request, hit, tokens)
        self._enlist(Group(request))

    @property
    def _reserve(self) -> int:
        """Blocks kept free when a group comes in."""
        return self._watermark if self.running else 0

    # ---- bookkeeping

    def _show_aside(self) -> None:
        self.aside = [group.request for group in self._aside]

    def _enlist(self, group: Group) -> None:
        self.groups[group.request.number] = group
        self._searching += group.beams is not None

    def _forget(self, group: Group) -> None:
        del self.groups[group.request.number]
        self._searching -= group.beams is not None

    def _join(self, sequence: Request, step: int) -> None:
        """Into the batch, to decode from `step` on."""
        sequence.move(Phase.RUNNING)
        self._seat(sequence)
        self._decode_from(sequence, step)


def _rank(group: Group) -> tuple[int, int]:
    return group.request.rank, group.request.number
