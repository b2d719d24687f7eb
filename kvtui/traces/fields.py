"""Numbers out of text, a column at a time and exactly.

A number is kept as whole units and billionths of a unit, so that no timestamp passes through a float.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np
from numpy.typing import NDArray

from kvtui.traces.workload import Ints

Bytes = NDArray[np.uint8]
Bools = NDArray[np.bool_]

BILLION = 1_000_000_000
_DIGITS = 19  # decimal digits of the largest 64-bit integer
_LARGEST = 2**62  # that is read one by one
DOT, _ZERO = ord("."), ord("0")


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a piece of a file: value i is buf[start[i]:stop[i]], without blanks around it."""

    buf: Bytes
    start: Ints
    stop: Ints

    @classmethod
    def of(cls, texts: Sequence[str]) -> Field:
        """The same from strings."""
        encoded = [text.strip().encode("utf-8", "replace") for text in texts]
        stop = np.cumsum([len(text) for text in encoded], dtype=np.int64)
        start = stop - np.array([len(text) for text in encoded], np.int64)
        return cls(np.frombuffer(b"".join(encoded) or b"\n", np.uint8), start, stop)

    def __len__(self) -> int:
        return len(self.start)

    def take(self, index: Ints) -> Field:
        return Field(self.buf, self.start[index], self.stop[index])

    def text(self, index: int | np.signedinteger) -> str:
        return self.buf[self.start[index] : self.stop[index]].tobytes().decode("utf-8", "replace")

    def texts(self) -> list[str]:
        data = self.buf.tobytes()
        cuts = zip(self.start.tolist(), self.stop.tolist(), strict=True)
        return [data[start:stop].decode("utf-8", "replace") for start, stop in cuts]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Values as `whole` units plus `nano` billionths of one (0 <= nano < 10**9), where `ok`."""

    whole: Ints
    nano: Ints
    ok: Bools


Values = Field | Sequence[object]  # a column as text, or as parsed JSON


def numbers(values: Values) -> Numbers:
    """Read a column of numbers; what is none, or not finite, is not `ok`."""
    if not isinstance(values, Field) and set(map(type, values)) <= {int}:
        with suppress(OverflowError):
            whole = np.array(values, np.int64)
            return Numbers(whole, np.zeros_like(whole), np.ones(len(whole), np.bool_))
    field = as_field(values)
    whole, ok = digits(field.buf, field.start, field.stop)
    nano = np.zeros_like(whole)
    rest = np.flatnonzero(~ok)
    if len(rest):
        whole[rest], nano[rest], ok[rest] = _decimals(field.take(rest))
    return Numbers(whole, nano, ok)


def number(value: object) -> tuple[int, int] | None:
    """One number as whole units and billionths; None for what is none, or not finite."""
    return _decimal(value.strip() if isinstance(value, str) else _plain(value))


def as_field(values: Values) -> Field:
    """The column as text; what is neither number nor string in JSON is empty."""
    if isinstance(values, Field):
        return values
    plain = [value if isinstance(value, str) else _plain(value) for value in values]
    return Field.of(plain)


def _plain(value: object) -> str:
    return repr(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def digits(buf: Bytes, start: Ints, stop: Ints) -> tuple[Ints, Bools]:
    """The unsigned integers at buf[start:stop], and where there is one."""
    width = stop - start
    ok = (width > 0) & (width <= _DIGITS)
    value = np.zeros(len(start), np.int64)
    for place in range(min(int(width.max(initial=0)), _DIGITS)):
        inside = place < width
        digit = buf.take(start + place, mode="clip") - _ZERO  # wraps below "0", so one comparison will do
        ok &= (digit < 10) | ~inside
        value = np.where(inside, value * 10 + digit, value)
    return value, ok & (value >= 0)  # nineteen nines wrap round to below zero


def _decimals(field: Field) -> tuple[Ints, Ints, Bools]:
    """Decimal fractions in bulk where they are written plainly, one by one where not."""
    dots = np.append(np.flatnonzero(field.buf == DOT), len(field.buf))
    point = np.minimum(dots[np.searchsorted(dots, field.start)], field.stop)
    whole, whole_ok = digits(field.buf, field.start, point)
    nano, nano_ok = fraction(field.buf, point + 1, field.stop)
    ok = whole_ok & nano_ok
    for index in np.flatnonzero(~ok):
        found = _decimal(field.text(index))
        if found:
            whole[index], nano[index] = found
            ok[index] = True
    return whole, nano, ok


def fraction(buf: Bytes, start: Ints, stop: Ints) -> tuple[Ints, Bools]:
    """Digits behind a decimal point as billionths; not ok without any or with more than nine."""
    value, ok = digits(buf, start, stop)
    missing = 9 - (stop - start)
    ok &= missing >= 0
    return np.where(ok, value * 10 ** np.clip(missing, 0, 9), 0), ok


def _decimal(text: str) -> tuple[int, int] | None:
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or not -_LARGEST < value < _LARGEST:
        return None
    return divmod(round(value * BILLION), BILLION)
