"""Several sequences as several requests, for systems that know no groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kvtui.traces.workload import Ints, Workload

UNIT = 16  # tokens a unit of the prompt that the copies of a request have in common


def widths(workload: Workload) -> Ints:
    """Sequences of each request: its beams, or its samples, or one."""
    ones = np.ones(len(workload), np.int64)
    samples = ones if workload.samples is None else np.maximum(workload.samples, 1)
    return samples if workload.beams is None else np.where(workload.beams > 1, workload.beams, samples)


def fanned_out(workload: Workload) -> Workload:
    """The same sequences, each a request of its own that arrives with the others; a prefix cache can find
    their common prompt. As it is where everybody has one sequence."""
    if workload.samples is None and workload.beams is None:
        return workload
    width = widths(workload)
    if len(workload) == 0 or width.max() == 1:
        return replace(workload, samples=None, beams=None)
    named = workload if workload.unit else _named(workload)
    rows = np.repeat(np.arange(len(workload)), width)
    return replace(
        named.take(rows, workload.arrival_ns[rows]), samples=None, beams=None, origin_ns=workload.origin_ns
    )


def _named(workload: Workload) -> Workload:
    """Ids for the prompts of a trace that has none."""
    units = -(-workload.prompt // UNIT)
    start = np.concatenate(([0], np.cumsum(units)))
    return replace(
        workload, unit=UNIT, chain=np.arange(start[-1]), chain_start=start, identified=workload.prompt
    )
