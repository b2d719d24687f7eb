from __future__ import annotations

from itertools import combinations

import pytest

from kvtui.tui.view.digits import NARROW, SMALL, THIN, WIDE, Face, digits, fit

FACES = {"wide": WIDE, "narrow": NARROW, "small": SMALL, "thin": THIN}


def test_the_wide_figures() -> None:
    assert digits("196", WIDE) == (
        "  ██    ██████  ██████",
        "████    ██  ██  ██    ",
        "  ██    ██████  ██████",
        "  ██        ██  ██  ██",
        "██████  ██████  ██████",
    )


def test_the_small_figures() -> None:
    assert digits("196", SMALL) == ("▄█  █▀▀█ █▀▀▀", " █  ▀▀▀█ █▀▀█", "▀▀▀ ▀▀▀▀ ▀▀▀▀")


def test_a_point_is_two_cells() -> None:
    assert [row[16:18] for row in digits("17.7", WIDE)] == ["  ", "  ", "  ", "  ", "██"]


def test_ascii_figures_are_seven_segments() -> None:
    assert digits("19", WIDE, ascii=True) == ("     _ ", "  | |_|", "  |  _|")


@pytest.mark.parametrize("face", FACES.values(), ids=FACES)
def test_all_figures_differ_and_keep_their_size(face: Face) -> None:
    drawn = {figure: digits(figure, face) for figure in "0123456789"}
    assert all(a != b for a, b in combinations(drawn.values(), 2))
    for rows in drawn.values():
        assert len(rows) == face.rows
        assert len({len(row) for row in rows}) == 1


def test_the_largest_size_that_fits() -> None:
    assert [fit(text, 22) for text in ("9", "66", "128", "1024")] == [WIDE, WIDE, WIDE, NARROW]
    assert [fit(text, 14) for text in ("66", "128", "1024")] == [WIDE, NARROW, THIN]
    assert len(digits("1024", THIN)[0]) == 15
