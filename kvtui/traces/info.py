"""What a workload is like, in numbers and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kvtui.arithmetic import gaps, sum_of, variation
from kvtui.percentile import percentile
from kvtui.traces.leftout import rows, told
from kvtui.traces.workload import LeftOut, Workload


def info(workload: Workload) -> dict[str, Any]:
    """The figures that say what to expect of a workload, ready for JSON; None where a figure is not known.

    Burstiness `cv` is the population standard deviation of the gaps between sorted arrivals over their mean.
    Percentiles interpolate linearly. Tokens are counted for each request.
    """
    return {
        "name": workload.name,
        "format": workload.format,
        "sha256": workload.sha256,
        "requests": len(workload),
        "left_out": [
            {"reason": group.reason, "count": group.count, "lines": list(group.lines)}
            for group in workload.left_out
        ],
        "span_s": workload.span_s if workload.timed else None,
        "cv": variation(gaps(workload.plain("arrival_ns"))),
        "prompt": _spread(workload.plain("prompt")),
        "output": _spread(workload.plain("output")),
        "tokens_estimated": workload.estimated,
        "hit_rate_ceiling": hit_rate_ceiling(workload),
        "assumed": list(workload.assumed),
    }


def hit_rate_ceiling(workload: Workload) -> float | None:
    """Prompt tokens that a cache without limit would have, over all prompt tokens; None without identity.

    Requests come in order of arrival. A request finds the unbroken leading run of units that earlier requests
    had, generated tokens where the trace identifies them, but never more than its prompt.
    """
    prompts = sum_of(workload.plain("prompt"))
    if not workload.unit or not prompts:
        return None
    length = np.diff(workload.chain_start)
    request = np.repeat(np.arange(len(workload)), length)
    _, first, name = np.unique(workload.chain, return_index=True, return_inverse=True)
    new = np.append(np.flatnonzero(request[first][name] == request), len(workload.chain))
    # The run ends with the first unit that this request is the first to have, or with its own last unit.
    run = np.minimum(new[np.searchsorted(new, workload.chain_start[:-1])] - workload.chain_start[:-1], length)
    return int(np.minimum(run * workload.unit, workload.prompt).sum()) / prompts


def _spread(tokens: Sequence[int]) -> dict[str, float | None]:
    if not len(tokens):
        return dict.fromkeys(("mean", "p50", "p99"))
    p50, p99 = percentile(tokens, 50, 99)
    return {"mean": sum_of(tokens) / len(tokens), "p50": p50, "p99": p99}


def render(figures: dict[str, Any]) -> str:
    """The figures of `info` for people: lines of plain text."""
    ceiling, cv = figures["hit_rate_ceiling"], figures["cv"]
    hits = "n/a (no prefix identity)" if ceiling is None else f"at most {ceiling:.2%} of prompt tokens"
    unit = "" if figures["span_s"] is None else " s"
    about = "~" if figures["tokens_estimated"] else ""
    lines = [
        f"{figures['name']}: {rows(figures['requests'], 'request')} ({figures['format']})",
        "",
        f"  span         {_or_unknown(figures['span_s'], ',.3f')}{unit}",
        f"  burstiness   {_or_unknown(cv, '.3f')} (CV of the gaps between arrivals)",
        f"  prompt       {about}{_tokens(figures['prompt'])}",
        f"  output       {about}{_tokens(figures['output'])}",
        f"  prefix hits  {hits}",
    ]
    left_out = [LeftOut(group["reason"], group["count"], group["lines"]) for group in figures["left_out"]]
    notes = [*told(left_out), *figures["assumed"]]
    return "\n".join([*lines, *([""] if notes else []), *(f"  {note}" for note in notes)])


def _tokens(spread: dict[str, float | None]) -> str:
    return ", ".join(f"{name} {_or_unknown(value, ',.1f')}" for name, value in spread.items()) + " tokens"


def _or_unknown(value: float | None, form: str) -> str:
    return "n/a" if value is None else format(value, form)
