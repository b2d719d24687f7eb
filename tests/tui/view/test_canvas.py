from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvtui.tui.view.canvas import Canvas, Rect, cut, line_width, plain, text_width, wrap_line
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


LINES = st.lists(
    st.tuples(st.text(alphabet="ab 連続。", max_size=12), st.sampled_from([T2, BOLD])), max_size=6
)


@given(LINES, st.integers(12, 30))
def test_a_wrapped_line_fits_and_loses_nothing_but_blanks(line: list, width: int) -> None:
    lines = wrap_line(tuple(line), width)
    if all(text_width(word) <= width for text, _ in line for word in plain(line).split()):
        assert all(line_width(each) <= width for each in lines)

    def solid(of: list) -> list:
        return [(char, ink) for text, ink in of for char in text if char != " "]

    assert solid([run for each in lines for run in each]) == solid(line)


def test_wide_text_breaks_anywhere_but_before_a_closing_mark() -> None:
    assert [plain(each) for each in wrap_line((("連続確保は 19 件。", T2),), 10)] == ["連続確保は", "19 件。"]
    assert [plain(each) for each in wrap_line((("連続。確保", T2),), 4)] == ["連", "続。", "確保"]
