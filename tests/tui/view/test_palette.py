"""The palettes hold for every kind of colour vision: distances in OKLab, after simulating three kinds."""

from __future__ import annotations

from itertools import combinations

import pytest

from kvtui.tui.view.ink import HUES, LANES, hue_of
from kvtui.tui.view.palette import PALETTES, THEMES, Palette, palette_name, rgb
from tests.tui.view.vision import VISION, distance, linear

COLOURED = [PALETTES[name] for name in THEMES]


def contrast(first: int, second: int) -> float:
    """WCAG 2."""
    low, high = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(linear, (first, second)))
    return (high + 0.05) / (low + 0.05)


def hues(palette: Palette) -> list[int]:
    return [palette.roles[f"h{at}"] for at in range(HUES)]


@pytest.mark.parametrize("palette", COLOURED, ids=lambda palette: palette.name)
@pytest.mark.parametrize("kind", VISION)
def test_any_two_hues_can_be_told_apart(palette: Palette, kind: str) -> None:
    smallest = min(distance(a, b, kind) for a, b in combinations(hues(palette), 2))
    assert smallest > (11.0 if kind == "normal" else 6.5)


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize("kind", VISION)
def test_neighbours_in_the_cycle_are_far_apart(name: str, kind: str) -> None:
    cycle = hues(PALETTES[name])
    assert min(distance(a, b, kind) for a, b in zip(cycle, cycle[1:] + cycle[:1], strict=True)) > 12.0


@pytest.mark.parametrize("palette", COLOURED, ids=lambda palette: palette.name)
def test_no_hue_is_near_the_colours_that_mean_something(palette: Palette) -> None:
    meaning = [palette.roles[role] for role in ("warn", "acc")]
    assert min(distance(hue, number, "normal") for hue in hues(palette) for number in meaning) > 6.0


@pytest.mark.parametrize("palette", COLOURED, ids=lambda palette: palette.name)
def test_text_can_be_read(palette: Palette) -> None:
    background = palette.roles["bg"]
    assert all(
        contrast(palette.roles[role], background) >= 4.5
        for role in ("t1", "t2", "t3", "acc", "warn", "bad", "base")
    )
    assert contrast(palette.roles["inv"], palette.roles["warn"]) >= 4.5
    assert contrast(palette.roles["inv"], palette.roles["acc"]) >= 4.5


@pytest.mark.parametrize("palette", COLOURED, ids=lambda palette: palette.name)
def test_only_colours_that_terminals_leave_alone(palette: Palette) -> None:
    assert all(16 <= number <= 255 for number in palette.roles.values())
    assert set(LANES) <= set(palette.roles)


def test_the_256_colour_table() -> None:
    assert [rgb(number) for number in (16, 233, 79, 215, 231, 255)] == [
        (0, 0, 0),
        (18, 18, 18),
        (95, 215, 175),
        (255, 175, 95),
        (255, 255, 255),
        (238, 238, 238),
    ]
    assert PALETTES["dark"].hex("acc") == "#5fd7af"


def test_a_period_in_the_trace_does_not_paint_a_kind_in_one_hue() -> None:
    for period in (2, 4, 8):
        assert len({hue_of(number) for number in range(0, 64 * period, period)}) == HUES
    assert all(hue_of(number) != hue_of(number + 1) for number in range(1000))


def test_sixteen_colours_tell_hues_from_what_has_a_meaning() -> None:
    for name in ("16-dark", "16-light"):
        roles = PALETTES[name].roles
        assert len({roles[f"h{at}"] for at in range(HUES)}) == HUES
        meaning = {roles[role] for role in ("acc", "warn", "base")}
        assert len(meaning) == 3
        if name == "16-dark":
            assert not meaning & {roles[f"h{at}"] for at in range(HUES)}
        assert all(-1 <= number < 16 for number in roles.values())


def test_the_terminal_decides_which_palette_shows_a_theme() -> None:
    assert palette_name("light", 24) == palette_name("light", 8) == "light"
    assert palette_name("light", 4) == "16-light"
    assert palette_name("high-contrast", 4) == "16-dark"
    assert palette_name("dark", 0) == "none"
