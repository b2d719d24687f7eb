"""Going back in time: states of a lane are saved now and then, and any step between is run again from one.

An engine is deterministic, so what is run again is what was: same decisions, same frames.
"""

from __future__ import annotations

import copyreg
import io
import pickle
from bisect import bisect_right
from collections.abc import Callable
from typing import Any

from kvtui.comparison.lane import Lane
from kvtui.frames.chronicle import Chronicle
from kvtui.serving.closedloop import Turns
from kvtui.serving.intake import BlockKeys
from kvtui.serving.measured import StepTimes
from kvtui.traces.workload import Workload

EVERY = 256  # steps between two saved states, at first
BUDGET = 64 << 20  # bytes of saved states a lane before every second one is dropped
SHARED = (Workload, BlockKeys, StepTimes, Turns, Chronicle)


class Checkpoints:
    """Saved states of one lane, from its start on. Call `note` after every step."""

    def __init__(
        self, lane: Lane, *, every: int = EVERY, budget: int = BUDGET, shared: tuple[type, ...] = ()
    ) -> None:
        """`shared`: more types of which nothing is to be saved."""
        self._types = shared
        self._every = every
        self._budget = budget
        self._steps: list[int] = []
        self._times: list[int] = []  # ps
        # With what is not part of a saved state: it never changes, or only grows.
        self._states: list[tuple[bytes, list[Any]]] = []
        self.note(lane)

    def note(self, lane: Lane) -> None:
        """Save the lane if it has come far enough beyond the last saved state before it."""
        at = bisect_right(self._steps, lane.step_count)
        if at and lane.step_count < self._steps[at - 1] + self._every:
            return
        stream, shared = io.BytesIO(), list[Any]()
        _Pickler(stream, shared, self._types).dump(lane)
        self._steps.insert(at, lane.step_count)
        self._times.insert(at, lane.now_ps)
        self._states.insert(at, (stream.getvalue(), shared))
        if sum(len(state) for state, _ in self._states) > self._budget and len(self._states) > 2:
            self._every *= 2
            for saved in (self._steps, self._times, self._states):
                del saved[1::2]

    def at_step(self, step: int) -> Lane:
        """A new lane that has done `step` steps (fewer only where the run ends before)."""
        lane = self._load(bisect_right(self._steps, step) - 1)
        while lane.step_count < step and lane.step():
            self.note(lane)  # so that the way is short next time
        return lane

    def at_time(self, now_ps: int) -> Lane:
        """A new lane that has done every step that starts before `now_ps`."""
        lane = self._load(bisect_right(self._times, now_ps) - 1)
        while not lane.done and lane.next_ps < now_ps and lane.step():
            self.note(lane)
        return lane

    def forget(self, before_ps: int) -> None:
        """From here on nobody can go back before the last state saved before that."""
        first = max(bisect_right(self._times, before_ps) - 1, 0)
        for saved in (self._steps, self._times, self._states):
            del saved[:first]

    def _load(self, index: int) -> Lane:
        state, shared = self._states[max(index, 0)]
        lane: Lane = _Unpickler(io.BytesIO(state), shared).load()
        return lane


class _Pickler(pickle.Pickler):
    """Leaves out what is shared. By type, not by `persistent_id`: that would be asked about every object."""

    def __init__(self, stream: io.BytesIO, shared: list[Any], types: tuple[type, ...]) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._shared = shared
        ours = dict.fromkeys((*SHARED, *types), self._index)
        self.dispatch_table = {**copyreg.dispatch_table, **ours}

    def _index(self, thing: Any) -> tuple[Callable[[int], Any], tuple[int]]:
        for index, known in enumerate(self._shared):
            if known is thing:
                return _shared, (index,)
        self._shared.append(thing)
        return _shared, (len(self._shared) - 1,)


def _shared(index: int) -> Any:
    raise AssertionError("a name in saved states, which only their own reader understands")


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, shared: list[Any]) -> None:
        super().__init__(stream)
        self._shared = shared

    def find_class(self, module: str, name: str) -> object:
        if (module, name) == (__name__, _shared.__name__):
            return self._shared.__getitem__
        return super().find_class(module, name)
