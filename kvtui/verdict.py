"""What a comparison says in one sentence, the honest one included when paging hardly matters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

LITTLE = 1.1  # ratio of mean batches below which paging wins little


def verdict(lanes: Sequence[dict[str, Any]]) -> str:
    """The last lane against the first, from their reports."""
    base, other = lanes[0], lanes[-1]
    if len(lanes) < 2:
        return f"{base['name']} runs {_mean(base)} requests at once on average."
    if not base["batch"]["peak"] and not other["batch"]["peak"]:
        return "No request could be served: see the rejections."
    if not base["batch"]["peak"]:
        return f"{base['name']} can serve no request at all; {other['name']} runs {_mean(other)} at once."
    ratio = other["batch"]["mean"] / base["batch"]["mean"]
    faster = base["time_s"] / other["time_s"] if other["time_s"] else 1.0
    batches = f"{_mean(other)} against {_mean(base)} requests at once on average"
    if ratio < LITTLE and faster < LITTLE:
        return f"{other['name']} wins little on this traffic: {batches}."
    return (
        f"{other['name']} runs {batches} ({ratio:.1f}x) and is done in {other['time_s']:,.1f} s against "
        f"{base['time_s']:,.1f} s ({faster:.1f}x as fast)."
    )


def _mean(lane: dict[str, Any]) -> str:
    return f"{lane['batch']['mean']:.1f}"
