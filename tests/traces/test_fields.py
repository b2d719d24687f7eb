"""Numbers and dates are read exactly, and what is none is told apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.traces.dates import dates
from kvtui.traces.fields import BILLION, Field, numbers

quick = settings(max_examples=40, deadline=None)
BLANKS = st.sampled_from(["", " ", "\t", "  "])


def billionths(values: Field | list[object]) -> list[int | None]:
    found = numbers(values)
    columns = zip(found.whole.tolist(), found.nano.tolist(), found.ok.tolist(), strict=True)
    return [whole * BILLION + nano if ok else None for whole, nano, ok in columns]


@quick
@given(st.lists(st.tuples(BLANKS, st.decimals(-(10**17), 10**17, places=9), BLANKS)))
def test_decimals_are_exact_to_nine_places(found: list[tuple[str, Decimal, str]]) -> None:
    texts = [f"{before}{value:f}{behind}" for before, value, behind in found]
    assert billionths(Field.of(texts)) == [int(value * BILLION) for _, value, _ in found]


@quick
@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers_of_64_bits_are_exact_in_json(values: list[int]) -> None:
    assert billionths(list(values)) == [value * BILLION for value in values]


@quick
@given(st.lists(st.integers(0, 2**63 - 1)))
def test_whole_numbers_of_63_bits_are_exact_in_text(values: list[int]) -> None:
    assert billionths(Field.of([str(value) for value in values])) == [value * BILLION for value in values]


@quick
@given(st.lists(st.floats(0, 4e9)))
def test_floats_count_as_they_are_printed(values: list[float]) -> None:
    assert billionths(list(values)) == [round(Decimal(repr(value)) * BILLION) for value in values]


@quick
@given(st.lists(st.text("0123456789.-+eE_ Naif", max_size=12)))
def test_any_text_is_a_number_where_python_says_so(texts: list[str]) -> None:
    def expected(text: str) -> int | None:
        try:
            value = Decimal(text.strip())
        except ArithmeticError:
            return None
        return round(value * BILLION) if value.is_finite() and -(2**62) < value < 2**62 else None

    assert billionths(Field.of(texts)) == [expected(text) for text in texts]


def test_what_is_no_number() -> None:
    values = [
        None,
        True,
        "",
        "x",
        "1,5",
        [1],
        {},
        float("nan"),
        float("inf"),
        2**64,
        "9" * 19,
        "1e400",
        ".",
        "-",
    ]
    assert billionths(values) == [None] * len(values)


@st.composite
def moments(draw: st.DrawFn) -> tuple[str, int, int]:
    """A date as text, and the seconds and nanoseconds since 1970 that it means."""
    naive = draw(st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))).replace(microsecond=0)
    digits = draw(st.text("0123456789", max_size=9))
    zone = draw(st.sampled_from(["", "Z", "+00:00", "+05:30", "-08:00", "-00:30"]))
    shift = (
        timedelta() if zone in ("", "Z") else datetime.fromisoformat(f"2000-01-01T00:00:00{zone}").utcoffset()
    )
    assert shift is not None
    at = naive.replace(tzinfo=timezone(shift)) - datetime(1970, 1, 1, tzinfo=UTC)
    text = naive.isoformat(sep=draw(st.sampled_from(" T"))) + (f".{digits}" if digits else "") + zone
    return text, at.days * 86_400 + at.seconds, int(digits.ljust(9, "0"))


@quick
@given(st.lists(moments()))
def test_dates_are_exact(found: list[tuple[str, int, int]]) -> None:
    read, zoned = dates(Field.of([text for text, _, _ in found]))
    assert read.ok.all()
    assert read.whole.tolist() == [whole for _, whole, _ in found]
    assert read.nano.tolist() == [nano for _, _, nano in found]
    assert zoned == any(text[10:].strip("T :.0123456789") for text, _, _ in found)


@quick
@given(st.lists(st.text("0123456789-+:.TZ ", max_size=30)))
def test_any_text_is_a_date_or_none(texts: list[str]) -> None:
    read, _ = dates(Field.of(texts))
    for text, ok in zip(texts, read.ok, strict=True):
        try:
            datetime.fromisoformat(text.strip()[:26])
        except ValueError:
            continue
        assert ok or len(text.strip()) > 26


def test_what_is_no_date() -> None:
    texts = [
        "",
        "x",
        "2024-13-01 00:00:00",
        "2024-01-01 24:00:01",
        "2024-01-01 00:00:00.",
        "2024-01-01 00:00:00x",
    ]
    read, zoned = dates(Field.of(texts))
    assert not read.ok.any()
    assert not zoned


def test_shorter_dates() -> None:
    read, zoned = dates(Field.of(["1970-01-02", "1970-01-02T00:01", "19700102T000000+0100"]))
    assert read.whole.tolist() == [86_400, 86_460, 82_800]
    assert zoned
