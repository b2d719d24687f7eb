"""What follows of a request from the blocks that it stored, as a row of a trace.

Of a prompt of p tokens p // b blocks are full, of b tokens each; with n of output the request fills
(p + n - 1) // b, for the last token is not computed. Between two blocks of output b tokens are made; the
time to the first of them says how many of its tokens were still the prompt's.
"""

from __future__ import annotations

from typing import Any

from kvtui.live.traffic.derived.requests import Derived
from kvtui.live.traffic.identity import runs


def row_of(request: Derived, *, block_size: int, start_s: float) -> dict[str, Any]:
    """A line of the trace. `at_ms` is no later than its first block; lengths come with their bounds, and are
    null where nobody knows what the request found cached."""
    row: dict[str, Any] = {"at_ms": round(1000 * (request.first_s - start_s), 3)}
    lengths = _lengths(request, block_size)
    if lengths is None:
        row |= {"prompt": None, "output": request.decoded * block_size + 1}
    else:
        numbers = request.tip.numbers()
        row |= lengths | {"ids": runs(numbers), "identified": len(numbers) * block_size}
    row["counted"] = "blocks"
    return row | ({"cut": True} if request.cut else {})


def _lengths(request: Derived, size: int) -> dict[str, Any] | None:
    filled = request.tip.depth
    if request.least is None or request.most is None or request.cached is None or filled is None:
        return None
    least, most = max(1, request.least * size), (request.most + 1) * size - 1
    prompt = _prompt(request, size, least, most)
    fewest, longest = max(1, filled * size + 1 - most), (filled + 1) * size - least
    middle = filled * size + (size + 1) // 2 - prompt
    seen = max(1, filled * size - prompt)
    output = max(seen, middle if request.decoded else (fewest + longest) // 2)
    bounds = {"prompt_bounds": [least, most], "output_bounds": [fewest, longest]}
    return {"prompt": prompt, "output": output, "cached": request.cached * size} | bounds


def _prompt(request: Derived, size: int, least: int, most: int) -> int:
    """By the pace of its output, where that is known; else the middle of what is possible."""
    if request.decoded < 2 or not request.decode_s or request.most is None:
        return (least + most + 1) // 2
    made = size * request.wait_s * (request.decoded - 1) / request.decode_s
    return min(max(round((most + 1) - made), least, most + 1 - size), most)
