"""Workloads of published experiments: lengths as their papers and artifacts describe them, Poisson arrivals.

The lengths of the PagedAttention paper's ShareGPT are drawn from quantiles of the length file in its artifact
(sosp-ae-39/sosp-ae-astra @3180d2f: first turn and reply in OPT tokens, 79,725 pairs, those of 2048 tokens
and more left out); those of its Alpaca from log-normals with the means of its Fig. 11 and a spread fitted
to its Fig. 13b. Who has a file of pairs (prompt_tokens, output_tokens) can use that.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kvtui.traces import load
from kvtui.traces.clock import S
from kvtui.traces.workload import Ints, Workload

LIMIT = 2048  # tokens of the longest context that OPT knows; pairs reach less
Lengths = Callable[[int, int], tuple[Ints, Ints]]  # (requests, seed) -> prompts, outputs

_SHARES = (0, 1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 98, 99, 99.5, 100)
_PROMPT = (1, 2, 7, 9, 13, 15, 18, 24, 35, 55, 94, 133, 203, 506, 863, 1229, 1460, 1636.4, 2028)
_OUTPUT = (1, 4, 22, 45, 101, 128, 157, 216, 271, 330, 405, 458, 525, 754, 899, 1139, 1280, 1443.4, 2009)
_TAIL = 4.0  # how much faster the longest ones grow, fitted to the means and second moments
_TRIES = 100  # to find somebody to trade with
_ALIKE = 0.21  # share of equal ranks that gives the file's correlation, 0.04
_ALPACA = ((19.31, 0.8), (58.45, 1.0))  # (mean, standard deviation over mean) of prompts and outputs


def sharegpt(requests: int, seed: int) -> tuple[Ints, Ints]:
    """Lengths by the quantiles above, in between evenly in the logarithm. Some answers have the rank of their
    prompt, for the correlation; pairs that are too long trade answers with others."""
    random = _random(seed)
    prompt = _by_quantiles(random.random(requests), _PROMPT)
    output = _by_quantiles(random.random(requests), _OUTPUT)
    alike = np.flatnonzero(random.random(requests) < _ALIKE)
    output[alike[np.argsort(prompt[alike], kind="stable")]] = np.sort(output[alike])
    for row in np.flatnonzero(prompt + output >= LIMIT).tolist():
        for other in random.integers(requests, size=_TRIES).tolist():
            if prompt[other] + output[row] < LIMIT:
                output[[row, other]] = output[[other, row]]
            if prompt[row] + output[row] < LIMIT:
                break
    return prompt, np.minimum(output, LIMIT - 1 - prompt)


def alpaca(requests: int, seed: int) -> tuple[Ints, Ints]:
    """Log-normal lengths below the limit."""
    random = _random(seed)
    prompt, output = (_log_normal(random, requests, mean, cv) for mean, cv in _ALPACA)
    while (long := prompt + output >= LIMIT).any():
        output[long] = _log_normal(random, int(long.sum()), *_ALPACA[1])
    return prompt, output


def pairs_of(path: Path) -> Lengths:
    """Lengths from a file of pairs, as the artifact takes them: the first ones in file order, shuffled."""
    known = load(str(path))
    fits = np.flatnonzero(known.prompt + known.output < LIMIT)
    prompt, output = known.prompt[fits], known.output[fits]

    def lengths(requests: int, seed: int) -> tuple[Ints, Ints]:
        rows = _random(seed).permutation(min(requests, len(prompt)))
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


def _by_quantiles(share: NDArray[np.float64], tokens: tuple[float, ...]) -> Ints:
    """Between two quantiles the logarithm grows evenly, above the last but one faster and faster."""
    shares = np.array(_SHARES) / 100
    last = shares[-2]
    top = last + (1 - last) * ((share - last) / (1 - last)).clip(0) ** _TAIL
    logs = np.interp(np.where(share > last, top, share), shares, np.log(np.array(tokens)))
    return np.asarray(np.rint(np.exp(logs)), np.int64)


def _log_normal(random: np.random.Generator, count: int, mean: float, cv: float) -> Ints:
    spread = np.log1p(cv**2)
    drawn = np.exp(np.log(mean) - spread / 2 + np.sqrt(spread) * random.standard_normal(count))
    return np.asarray(np.clip(np.rint(drawn), 1, LIMIT // 2), np.int64)


def _random(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))
