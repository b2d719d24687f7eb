from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvtui.tui.view.canvas import Canvas, Rect, cut, line_width, plain, text_width
from kvtui.tui.view.ink import BOLD, T2, T3


def test_text_lands_where_it_is_put_and_inks_run_together() -> None:
    canvas = Canvas(12, 2)
    assert canvas.put(1, 0, "ab", BOLD) == 3
    assert canvas.put(3, 0, "cd", BOLD) == 5
    assert canvas.put_right(12, 1, "xyz", T3) == 9
    first, second = canvas.lines()
    assert first == ((" ", T2), ("abcd", BOLD), ("       ", T2))
    assert second == ((" " * 9, T2), ("xyz", T3))


def test_what_is_put_outside_is_dropped() -> None:
    canvas = Canvas(4, 1)
    canvas.put(-2, 0, "abcd")
    canvas.put(3, 0, "xyz")
    canvas.put(0, 1, "no")
    canvas.put(0, -1, "no")
    assert plain(canvas.lines()[0]) == "cd x"


def test_wide_characters_take_two_cells_and_are_never_halved() -> None:
    canvas = Canvas(6, 1)
    assert canvas.put(0, 0, "連続") == 4
    assert canvas.put(5, 0, "確") == 7
    line = canvas.lines()[0]
    assert plain(line) == "連続  "
    assert line_width(line) == 6


def test_a_part_of_a_canvas() -> None:
    canvas = Canvas(6, 3)
    canvas.put(0, 1, "abcdef")
    assert [plain(line) for line in canvas.lines(Rect(2, 0, 3, 2))] == ["   ", "cde"]


def test_text_is_cut_at_a_word() -> None:
    assert cut("no free block for r266", 40) == "no free block for r266"
    assert cut("no free block for r266", 16) == "no free block …"
    assert cut("no free block for r266", 15) == "no free block …"
    assert cut("no free block for r266", 14) == "no free …"
    assert cut("305 tokens · 20 blocks", 14) == "305 tokens …"
    assert cut("averyveryverylongname.csv", 10) == "averyvery…"
    assert cut("abc", 2) == "a…"
    assert cut("abc", 1) == ""


@given(st.text(alphabet="ab 連続·", max_size=40), st.integers(0, 30))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert text_width(cut(text, width)) <= max(width, 0)
