"""The text format, whole and broken."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.live.prometheus import parse
from tests.shared import SHARED, needs_shared

PREFIX = ("vllm:",)


def test_labels_with_every_awkward_character() -> None:
    page = parse('vllm:a{m="x } \\" \\\\ , = {",n="1"} 2.5 1700000000000\n', prefixes=PREFIX)
    (sample,) = page.get("vllm:a")
    assert sample.labels == {"m": 'x } " \\ , = {', "n": "1"}
    assert sample.value == 2.5


def test_forms_of_numbers() -> None:
    text = 'vllm:a 1\nvllm:b 1.5e+09\nvllm:c +Inf\nvllm:d NaN\nvllm:e{} 3 # {t="x"} 0.5 17\nvllm:f x\n'
    page = parse(text, prefixes=PREFIX)
    assert [page.sum(f"vllm:{name}") for name in "abcdef"] == [1.0, 1.5e9, None, None, 3.0, None]


def test_a_line_that_was_cut_is_not_read() -> None:
    assert parse("vllm:a 1\nvllm:b 12", prefixes=PREFIX).sum("vllm:b") is None  # perhaps 12,345


def test_broken_lines_do_not_hide_the_others() -> None:
    text = 'vllm:a{x="1} 2\n\x00\xff\nvllm:\nvllm:b{x=1} \nvllm:c{x="1",} 4\n<html>\n'
    assert parse(text, prefixes=PREFIX).sum("vllm:c") == 4.0
    assert "vllm:a" not in parse(text, prefixes=PREFIX)


@given(st.text(max_size=300))
def test_anything_can_be_read(text: str) -> None:
    parse(text, prefixes=("",))


@given(st.text(max_size=30), st.floats(allow_nan=False, allow_infinity=False))
def test_what_was_written_is_read(label: str, value: float) -> None:
    escaped = label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    (sample,) = parse(f'vllm:a{{k="{escaped}"}} {value!r}\n', prefixes=PREFIX).get("vllm:a")
    assert (sample.labels["k"], sample.value) == (label, value)


def test_thousands_of_series_of_others_are_skipped() -> None:
    noise = "".join(f'http_requests_total{{path="/{n}"}} {n}\n' for n in range(20_000))
    page = parse(f"{noise}vllm:a 1\n{noise}", prefixes=PREFIX)
    assert page.sum("vllm:a") == 1.0
    assert "http_requests_total" not in page


@needs_shared
def test_agrees_with_the_reference_reader_on_a_recorded_page() -> None:
    library = pytest.importorskip("prometheus_client.parser")
    text = (SHARED / "vllm-live/main/metrics/02-burst-05.txt").read_text()
    theirs = {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in library.text_string_to_metric_families(text)
        for sample in family.samples
    }
    page = parse(text, prefixes=("",))
    names = {name for name, _ in theirs}
    ours = {(n, frozenset(s.labels.items())): s.value for n in names for s in page.get(n)}
    assert ours == theirs
