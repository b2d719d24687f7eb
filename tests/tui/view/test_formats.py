"""Numbers as they are written: exact text, fixed fields, sums that add up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.tui.view import formats


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "00:00.0"),
        (0.04, "00:00.0"),
        (74.0, "01:14.0"),
        (59.99, "00:59.9"),
        (0.3, "00:00.3"),
        (3599.95, "59:59.9"),
        (3600.0, "1:00:00"),
        (3674.9, "1:01:14"),
        (36_000.0, "10:00:00"),
    ],
)
def test_clock(seconds: float, text: str) -> None:
    assert formats.clock(seconds) == text


def test_tick_leaves_tenths_out() -> None:
    assert formats.ticks((0, 37, 74)) == ["00:00", "00:37", "01:14"]
    assert formats.ticks((0, 0.6, 1.2)) == ["00:00.0", "00:00.6", "00:01.2"]
    assert [formats.tick(t) for t in (0, 37.4, 3599, 3674)] == ["00:00", "00:37", "59:59", "1:01:14"]


@pytest.mark.parametrize(
    ("number", "width", "text"),
    [
        (0, 6, "0"),
        (1209, 5, "1,209"),
        (99_999, 6, "99,999"),
        (99_999, 5, "100k"),
        (12_345, 5, "12k"),
        (100_000, 6, "100k"),
        (121_300, 6, "121k"),
        (1_240_000, 6, "1.2M"),
        (9_960_000, 6, "10M"),
        (999_800, 5, "1.0M"),
        (34_000_000, 5, "34M"),
        (5_600_000_000, 6, "5.6G"),
        (684.6, 5, "685"),
    ],
)
def test_count(number: float, width: int, text: str) -> None:
    assert formats.count(number, width=width) == text


@given(st.integers(0, 10**11), st.integers(5, 6))
def test_a_count_never_outgrows_its_field(number: int, width: int) -> None:
    assert len(formats.count(number, width=width)) <= width


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        (66, 19, "3.5x"),
        (19, 19, "1.0x"),
        (5, 0, None),
        (199, 20, "10x"),
        (198, 20, "9.9x"),
        (30_000, 2, "15,000x"),
    ],
)
def test_ratio(value: float, base: float, text: str | None) -> None:
    assert formats.ratio(value, base) == text


def test_speed() -> None:
    texts = [formats.speed(times) for times in (1 / 16, 0.25, 0.999, 1, 4, 9.96, 128, 1234.5)]
    assert texts == ["0.06x", "0.25x", "1.0x", "1.0x", "4.0x", "10x", "128x", "1,234x"]


def test_a_row_of_latencies_has_one_unit() -> None:
    assert formats.unit_of([0.027, 0.044]) == "ms"
    assert formats.unit_of([18.0, 0.1]) == "s"
    assert formats.unit_of([None, 0.2]) == "ms"
    assert formats.unit_of([None, None]) == "s"
    assert formats.unit_of([]) == "s"


@pytest.mark.parametrize(
    ("seconds", "unit", "text"),
    [
        (None, "s", "n/a"),
        (18.04, "s", "18.0 s"),
        (0.1, "s", "0.1 s"),
        (0.0266, "ms", "27 ms"),
        (99.94, "s", "99.9 s"),
        (99.96, "s", "100 s"),
        (999.4, "s", "999 s"),
        (999.6, "s", "17 min"),
        (36_000, "s", "600 min"),
        (90_000, "s", "25 h"),
    ],
)
def test_latency(seconds: float | None, unit: str, text: str) -> None:
    assert formats.latency(seconds, unit) == text


@given(st.floats(0, 59_000))
def test_a_latency_keeps_to_its_field(seconds: float) -> None:
    assert len(formats.latency(seconds, formats.unit_of([seconds]))) <= 7


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (8 << 20, "8 MiB"),
        (5_242_880_000, "4.88 GiB"),
        (1536, "1.50 KiB"),
        (150 << 30, "150 GiB"),
    ],
)
def test_memory(amount: int, text: str) -> None:
    assert formats.memory(amount) == text


def test_progress_keeps_its_field() -> None:
    assert formats.progress(830, 865) == "830/  865"
    assert formats.progress(1242, 1283) == "1,242/1,283"


def test_shares_take_the_largest_remainder() -> None:
    assert formats.shares([19.1, 12.5, 65.7, 2.7], whole=False) == ["19.1%", "12.5%", "65.7%", "2.7%"]
    assert formats.shares([19.1, 12.5, 65.7, 2.7], whole=True) == ["19%", "12%", "66%", "3%"]
    assert formats.shares([1, 1, 1], whole=False) == ["33.4%", "33.3%", "33.3%"]
    assert formats.shares([0, 0], whole=True) == ["0%", "0%"]


_PARTS = st.lists(st.floats(0, 100), min_size=1, max_size=7).filter(lambda parts: sum(parts) > 0.01)


@given(_PARTS)
def test_shares_add_up_to_a_hundred(parts: list[float]) -> None:
    tenths = [round(float(text[:-1]) * 10) for text in formats.shares(parts, whole=False)]
    assert sum(tenths) == 1000
    assert sum(int(text[:-1]) for text in formats.shares(parts, whole=True)) == 100


@given(_PARTS, st.integers(8, 64))
def test_a_bar_is_full_and_hides_no_part(parts: list[float], width: int) -> None:
    cells = formats.bar(parts, width=width)
    assert sum(cells) == width
    assert all((cell > 0) == (part > 0) for cell, part in zip(cells, parts, strict=True))


def test_the_axis_ends_above_the_peak() -> None:
    tops = [formats.axis_top(peak) for peak in (0, 7, 8, 19, 86, 96, 255, 4095, 5000)]
    assert tops == [8, 8, 16, 20, 96, 128, 256, 4096, 8192]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("74", 74.0),
        (" 74.5 ", 74.5),
        ("1:14", 74.0),
        ("01:14.5", 74.5),
        ("1:01:14", 3674.0),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("inf", None),
        ("nan", None),
        ("1:2:3:4", None),
        ("1::2", None),
    ],
)
def test_a_time_is_read_in_every_way_it_is_written(text: str, seconds: float | None) -> None:
    assert formats.seconds_of(text) == seconds
