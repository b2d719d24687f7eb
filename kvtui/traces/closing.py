"""Closing the loop: whether turns and clients wait for answers, and for how long they think."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvtui.errors import ConfigError
from kvtui.traces.leftout import rows as counted
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

RECORDED, CLOSED = "recorded", "closed"
_ALONE = "each request is a conversation of its own for them (--think S lets turns wait for answers)"


def closed_by(
    workload: Workload, said: list[str], *, turns: str | None, think_s: float | None, clients: int
) -> Workload:
    """The workload with turns at `recorded` times or `closed`: sent when the turn before has ended and
    `think_s`, or the wait that the trace states, is over. `clients` hold one conversation each, whatever
    the arrivals.

    Without any of these it is as the trace has it. Raises ConfigError where the trace has no conversations,
    or does not say how long their authors waited.
    """
    if turns is None and (think_s is not None or (clients and _waits_known(workload))):
        turns = CLOSED if workload.follows is not None or not clients else None
    if turns == CLOSED:
        workload = _closed(workload, think_s, said)
    elif turns == RECORDED and workload.closed:
        said.append("turns arrive as if answers took no time, as asked")
        workload = replace(workload, closed=False)
    if not clients:
        return workload
    alone = workload.follows is not None and not workload.closed
    said.append(f"{counted(clients, 'client')} in a closed loop, whatever the arrivals, as asked")
    said += [_ALONE] if alone else []
    return replace(workload, clients=clients)


def _waits_known(workload: Workload) -> bool:
    follows, waits = workload.follows, workload.waits_ns
    return follows is not None and waits is not None and not (waits[follows >= 0] < 0).any()


def _closed(workload: Workload, think_s: float | None, said: list[str]) -> Workload:
    if workload.follows is None:
        raise ConfigError(
            "this trace does not say which requests belong to one conversation.",
            hint="--turns closed and --think need sessions; --concurrency N does without",
        )
    if think_s is not None:
        waits = np.full(len(workload), round(think_s * S), np.int64)
        said.append(f"a turn is sent {think_s:g} s after the turn before has ended, as asked")
        return replace(workload, waits_ns=waits, closed=True)
    if not _waits_known(workload):
        raise ConfigError(
            "this trace does not say how long people or tools took between turns.",
            hint="give --think SECONDS",
        )
    if not workload.closed:
        said.append("a turn is sent when the turn before has ended and the stated wait is over, as asked")
    return replace(workload, closed=True)
