"""Decision traces: requests whose arrivals are steps, and scripts that say how drafting goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtui.serving.request import Request
from kvtui.traces.workload import Workload
from kvtui.units import PS_PER_NS

STEP = 1_000  # ps a step takes: time and step number are the same thing here
Token = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """One request of a decision trace (a child, where `n` asks for several)."""

    id: str
    source: dict[str, Any]
    tokens: list[Token]
    outputs: list[Token]
    line: int


def rows_of(lines: Sequence[dict[str, Any]], config: dict[str, Any]) -> list[Row]:
    """The requests in order of arrival."""
    rows = []
    for number, source in enumerate(lines):
        n = source.get("n", 1)
        ids = [source["id"]] if n == 1 else [f"{k}_{source['id']}" for k in range(n)]
        tokens = _prompt(source, config)
        rows += [Row(id, source, tokens, _outputs(id, source), number) for id in ids]
    return sorted(rows, key=lambda row: row.source["arrival_step"])


def _prompt(source: dict[str, Any], config: dict[str, Any]) -> list[Token]:
    if "prompt_segments" in source:
        return [(name, k) for name, n in source["prompt_segments"] for k in range(n)]
    if "hash_ids" in source:
        per = config.get("hash_id_block") or config.get("block_size", 16)
        tokens = [(f"hash:{h}", k) for h in source["hash_ids"] for k in range(per)]
        return tokens[: source["prompt_tokens"]]
    if isinstance(source["prompt_tokens"], list):
        return [("literal", t) for t in source["prompt_tokens"]]
    return [(f"req:{source['id']}", k) for k in range(source["prompt_tokens"])]


def _outputs(id: str, source: dict[str, Any]) -> list[Token]:
    count = source["output_tokens"]
    explicit = source.get("output_token_ids")
    tokens = (
        [("literal", t) for t in explicit[:count]] if explicit else [(f"out:{id}", p) for p in range(count)]
    )
    if source.get("max_tokens", count) > count:
        tokens[count - 1] = ("end of sequence", 0)
    return tokens


def workload_of(rows: Sequence[Row], unit: int) -> Workload:
    """The rows as columns; equal prefixes of units of tokens, generated or not, get equal chain ids."""
    ids: dict[tuple[object, ...], int] = {}
    chain: list[int] = []
    starts = [0]
    for row in rows:
        tokens = row.tokens + row.outputs
        parent: object = ("salt", row.source.get("cache_salt"))
        for at in range(0, len(tokens) - unit + 1, unit):
            parent = ids.setdefault((parent, *tokens[at : at + unit]), len(ids))
            chain.append(parent)
        starts.append(len(chain))
    bounds = np.array(starts, np.int64)
    return Workload(
        name="decisions",
        format="decision trace",
        arrival_ns=np.array([r.source["arrival_step"] for r in rows], np.int64) * (STEP // PS_PER_NS),
        prompt=np.array([len(r.tokens) for r in rows], np.int64),
        output=np.array([r.source["output_tokens"] for r in rows], np.int64),
        line=np.array([r.line + 1 for r in rows], np.int64),
        priority=np.array([r.source.get("priority", 0) for r in rows], np.int64),
        unit=unit,
        chain=np.array(chain, np.int64),
        chain_start=bounds,
        identified=(bounds[1:] - bounds[:-1]) * unit,
    )


class Script:
    """A drafter that does what the trace says, the last number of a row repeated for ever."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows

    def drafted(self, request: Request, most: int) -> int:
        numbers = self._rows[request.number].source.get("drafts") or [most]
        return min(_entry(numbers, request.yields), most)

    def accepted(self, request: Request, drafts: int) -> int:
        numbers = self._rows[request.number].source.get("accept") or [0]
        return min(_entry(numbers, request.verifies), drafts)


def _entry(numbers: Sequence[int], at: int) -> int:
    return numbers[min(at, len(numbers) - 1)]
