"""Workloads of published experiments: lengths as their papers and artifacts describe them, Poisson arrivals.

Lengths are drawn from quantiles of the files that the artifacts publish. For the PagedAttention paper's
ShareGPT these are the first 8,000 pairs below 2048 tokens (sosp-ae-39/sosp-ae-astra @3180d2f: first turn and
reply in OPT tokens), as its scripts take as many from the start of the file as requests arrive. For
Sarathi-Serve's openchat_sharegpt4 it is its whole file (microsoft/sarathi-serve: 30,731 rounds in Llama-2
tokens, at most 8192 each). The lengths of Alpaca are log-normal with the means of the PagedAttention paper's
Fig. 11 and a spread fitted to its Fig. 13b. Who has a file of pairs (prompt_tokens, output_tokens) can use
that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kvtui.traces import load
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Ints, Workload

LIMIT = 2048  # tokens of the longest context that OPT knows; pairs reach less
OPENCHAT_LIMIT = 8192  # what Sarathi-Serve cut its chats to
Lengths = Callable[[int, int], tuple[Ints, Ints]]  # (requests, seed) -> prompts, outputs
Table = tuple[int, ...]

# Per cent of the pairs that are at most so long, for all four tables below.
_SHARES = (
    *(0, 1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90),
    *(92.5, 95, 97, 98, 99, 99.5, 99.9, 100),
)
_SHAREGPT = (
    (
        *(1, 2, 3, 6, 9, 11, 13, 15, 18, 21, 24, 29, 35, 43, 53, 69, 90, 125, 194, 311, 485),
        *(630, 874, 1106, 1239, 1484, 1693, 1880, 2028),
    ),
    (
        *(1, 4, 10, 20, 43, 73, 98, 127, 156, 188, 216, 244, 274, 301, 329, 364, 406, 461, 528, 619, 752),
        *(794, 883, 1027, 1129, 1281, 1445, 1701, 1911),
    ),
)
_OPENCHAT = (
    (
        *(1, 12, 16, 29, 74, 180, 382, 580, 777, 973, 1203, 1457, 1730, 2060, 2401, 2799, 3235, 3734, 4278),
        *(4918, 5696, 6104, 6563, 6950, 7164, 7434, 7622, 7854, 8141),
    ),
    (
        *(2, 6, 19, 44, 84, 130, 181, 228, 271, 312, 346, 381, 415, 453, 493, 534, 581, 628, 683, 754, 834),
        *(876, 920, 957, 975, 998, 1009, 1021, 1024),
    ),
)
_TRIES = 100  # to find somebody to trade with
_ALIKE, _ALIKE_CHATS = 0.24, 0.06  # shares of equal ranks that give the files' correlations, 0.05 and 0.04
_ALPACA = ((19.31, 0.8), (58.45, 1.0))  # (mean, standard deviation over mean) of prompts and outputs


def sharegpt(requests: int, seed: int) -> tuple[Ints, Ints]:
    """Lengths of the PagedAttention paper's ShareGPT."""
    return _drawn(requests, seed, _SHAREGPT, limit=LIMIT, alike=_ALIKE)


def openchat(requests: int, seed: int) -> tuple[Ints, Ints]:
    """Lengths of Sarathi-Serve's openchat_sharegpt4: every round of a conversation, history included."""
    return _drawn(requests, seed, _OPENCHAT, limit=OPENCHAT_LIMIT, alike=_ALIKE_CHATS)


def alpaca(requests: int, seed: int) -> tuple[Ints, Ints]:
    """Log-normal lengths below the limit."""
    random = _random(seed)
    prompt, output = (_log_normal(random, requests, mean, cv) for mean, cv in _ALPACA)
    while (long := prompt + output >= LIMIT).any():
        output[long] = _log_normal(random, int(long.sum()), *_ALPACA[1])
    return prompt, output


def sentences(requests: int, seed: int, *, source: int, target: int, cv: float) -> tuple[Ints, Ints]:
    """Log-normal sentences of `source` tokens in the mean, and their translations, longer in proportion."""
    spread = np.log1p(cv**2)
    size = np.exp(np.sqrt(spread) * _random(seed).standard_normal(requests) - spread / 2)
    first, second = (np.maximum(np.rint(mean * size), 1).astype(np.int64) for mean in (source, target))
    return first, second


def pairs_of(path: Path, *, limit: int = LIMIT, leading: bool = True) -> Lengths:
    """Lengths from a file of pairs below `limit` tokens, in random order: of the first ones, as many as there
    are requests (the artifact of the PagedAttention paper), or of all (Sarathi-Serve's)."""
    known = load(str(path))
    fits = np.flatnonzero(known.prompt + known.output < limit)
    prompt, output = known.prompt[fits], known.output[fits]

    def lengths(requests: int, seed: int) -> tuple[Ints, Ints]:
        rows = _random(seed).permutation(min(requests, len(prompt)) if leading else len(prompt))
        rows = np.resize(rows, requests)  # from the start again where the file is too short
        return prompt[rows], output[rows]

    return lengths


def poisson(name: str, lengths: Lengths, *, rate: float, seconds: float, seed: int) -> Workload:
    """Requests at `rate` a second for so many seconds."""
    random = _random(seed + 1_000_003)
    gaps = -np.log1p(-random.random(round(rate * seconds * 1.2) + 100)) / rate
    times = np.cumsum(gaps)
    times = times[times < seconds]
    prompt, output = lengths(len(times), seed)
    return Workload(
        name=name,
        format="published",
        arrival_ns=np.rint((times - times[0]) * S).astype(np.int64),
        prompt=prompt,
        output=output,
        line=np.zeros(len(times), np.int64),
    )


def _drawn(
    requests: int, seed: int, tables: tuple[Table, Table], *, limit: int, alike: float
) -> tuple[Ints, Ints]:
    """Lengths by quantiles, in between evenly in the logarithm. A share of the answers have the rank of their
    prompt, for the correlation; pairs of `limit` tokens and more trade answers with others."""
    random = _random(seed)
    prompt, output = (_by_quantiles(random.random(requests), table) for table in tables)
    equal = np.flatnonzero(random.random(requests) < alike)
    output[equal[np.argsort(prompt[equal], kind="stable")]] = np.sort(output[equal])
    for row in np.flatnonzero(prompt + output >= limit).tolist():
        for other in random.integers(requests, size=_TRIES).tolist():
            if prompt[other] + output[row] < limit:
                output[[row, other]] = output[[other, row]]
            if prompt[row] + output[row] < limit:
                break
    return prompt, np.minimum(output, limit - 1 - prompt)


def _by_quantiles(share: NDArray[np.float64], tokens: Table) -> Ints:
    """Between two quantiles the logarithm grows evenly."""
    logs = np.interp(share, np.array(_SHARES) / 100, np.log(np.array(tokens)))
    return np.asarray(np.rint(np.exp(logs)), np.int64)


def _log_normal(random: np.random.Generator, count: int, mean: float, cv: float) -> Ints:
    spread = np.log1p(cv**2)
    drawn = np.exp(np.log(mean) - spread / 2 + np.sqrt(spread) * random.standard_normal(count))
    return np.asarray(np.clip(np.rint(drawn), 1, LIMIT // 2), np.int64)


def _random(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))
