"""Whether what a ledger has of a cell is a result: figures of the right kinds under the right names."""

from __future__ import annotations

from typing import Any

from kvtui.sweep.cell import Result

NUMBERS = ("output_tokens_per_s", "wasted_pct")
MAYBE = ("slo_attainment", "goodput_rps", "usd_per_million_tokens", "waste_usd_per_month")
SPREADS = ("ttft_s", "tpot_s", "e2e_s")
SERVERS = ("servers", "most_pct")
ENDED = ("does not fit", "refused", "failed")


def is_result(value: Any) -> bool:
    """Whether `value`, read from JSON, has all that an answer is made of."""
    if not isinstance(value, dict):
        return False
    if value.get("status") != "done":
        return value.get("status") in ENDED and isinstance(value.get("reason"), str)
    return (
        all(_number(value.get(name)) for name in NUMBERS)
        and all(_maybe(value.get(name, "")) for name in MAYBE)
        and all(_spread(value.get(name)) for name in SPREADS)
        and _price(value)
        and _errors(value.get("expected_error"))
        and _pool(value.get("pool"))
    )


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _maybe(value: Any) -> bool:
    return value is None or _number(value)


def _spread(value: Any) -> bool:
    return isinstance(value, dict) and "p99" in value and all(map(_maybe, value.values()))


def _price(result: Result) -> bool:
    price = result.get("price", "")
    return price is None or (
        isinstance(price, dict)
        and _number(price.get("usd_per_gpu_hour"))
        and isinstance(price.get("source"), str)
    )


def _pool(value: Any) -> bool:
    if not isinstance(value, dict):
        return value is None
    error, left_out = value.get("error", ""), value.get("left_out")
    known = error is None or (isinstance(error, dict) and all(_number(error.get(k)) for k in SERVERS))
    named = isinstance(left_out, list) and all(isinstance(text, str) for text in left_out)
    return known and named and isinstance(value.get("upper_bound"), bool)


def _errors(value: Any) -> bool:
    return isinstance(value, dict) and all(
        error is None
        or (isinstance(error, dict) and all(_number(error.get(k)) for k in ("median_pct", "p90_pct", "n")))
        for error in value.values()
    )
