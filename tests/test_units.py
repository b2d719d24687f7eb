"""Figures that are cut and not rounded: a limit that was missed never looks kept."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from kvtui.units import kept_text


@given(whole=st.integers(1, 5000), data=st.data())
def test_it_is_cut_and_not_rounded(whole: int, data: st.DataObject) -> None:
    good = data.draw(st.integers(0, whole))
    texts = {kept_text(good / whole), kept_text(round(good / whole, 6))}
    (text,) = texts
    assert (
        Fraction(text.removesuffix("%"))
        <= Fraction(100 * good, whole)
        < Fraction(text[:-1]) + Fraction(1, 10)
    )
    assert (text == "100%") is (good == whole)


def test_nobody_knows() -> None:
    assert kept_text(None) == "n/a"
