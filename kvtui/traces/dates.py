"""Dates and times of day out of text, a column at a time and exactly."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from kvtui.traces.fields import DOT, Bools, Bytes, Field, Numbers, digits, fraction
from kvtui.traces.workload import Ints

# Where the parts of YYYY-MM-DD HH:MM:SS begin, their width, least and largest value.
_PARTS = ((0, 4, 1, 9999), (5, 2, 1, 12), (8, 2, 1, 31), (11, 2, 0, 23), (14, 2, 0, 59), (17, 2, 0, 60))
_MARKS = ((4, b"-"), (7, b"-"), (10, b" Tt"), (13, b":"), (16, b":"))
_COMMA, _PLUS, _MINUS, _COLON = b",+-:"


def dates(field: Field) -> tuple[Numbers, bool]:
    """Read dates and times of day as seconds since 1970, taking those without a zone as UTC.

    Plain forms are YYYY-MM-DD, a blank or T, HH:MM:SS, up to nine digits of a fraction and Z or +HH:MM; the
    rest is left to the standard library's ISO 8601 reader. Also tells whether any of them has a zone.
    """
    buf, start = field.buf, field.start
    end, offset = _zone(field)
    seconds, ok = _clock(buf, start)
    nano, nano_ok = fraction(buf, start + 20, end)
    point = buf.take(start + 19, mode="clip")
    bare = end == start + 19
    ok &= (end >= start + 19) & (bare | (nano_ok & ((point == DOT) | (point == _COMMA))))
    whole = seconds - offset
    nano = np.where(bare, 0, nano)
    zoned = bool((ok & (end < field.stop)).any())
    for index in np.flatnonzero(~ok):
        found = _date(field.text(index))
        if found:
            whole[index], nano[index], named = found
            ok[index] = True
            zoned |= named
    return Numbers(whole, nano, ok), zoned


def _clock(buf: Bytes, start: Ints) -> tuple[Ints, Bools]:
    """Seconds since 1970 of the YYYY-MM-DD HH:MM:SS at every start, and where there is one."""
    ok = np.ones(len(start), np.bool_)
    for place, allowed in _MARKS:
        ok &= np.isin(buf.take(start + place, mode="clip"), np.frombuffer(allowed, np.uint8))
    parts = []
    for place, width, least, most in _PARTS:
        value, good = digits(buf, start + place, start + place + width)
        ok &= good & (value >= least) & (value <= most)
        parts.append(value)
    year, month, day, hours, minutes, seconds = parts
    months = np.where(ok, (year - 1970) * 12 + month - 1, 0)
    days = months.astype("M8[M]").astype("M8[D]").astype(np.int64) + day - 1
    return days * 86_400 + hours * 3600 + minutes * 60 + seconds, ok


def _zone(field: Field) -> tuple[Ints, Ints]:
    """Where the zone begins (the end where there is none) and its offset in seconds."""
    buf, stop = field.buf, field.stop
    utc = np.isin(buf.take(stop - 1, mode="clip"), np.frombuffer(b"Zz", np.uint8))
    sign = buf.take(stop - 6, mode="clip")
    hours, hours_ok = digits(buf, stop - 5, stop - 3)
    minutes, minutes_ok = digits(buf, stop - 2, stop)
    shifted = (stop - field.start >= 25) & hours_ok & minutes_ok & ((sign == _PLUS) | (sign == _MINUS))
    shifted &= buf.take(stop - 3, mode="clip") == _COLON
    offset = np.where(sign == _MINUS, -60, 60) * (hours * 60 + minutes)
    return stop - utc - 6 * shifted, np.where(shifted, offset, 0)


def _date(text: str) -> tuple[int, int, bool] | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    whole = int(aware.replace(microsecond=0).timestamp())
    return whole, moment.microsecond * 1000, moment.tzinfo is not None
