"""The palettes hold for every kind of colour vision: distances in OKLab, after simulating three kinds."""

from __future__ import annotations

from itertools import combinations

import pytest

from kvtui.tui.view.ink import HUES, LANES, hue_of
from kvtui.tui.view.palette import PALETTES, THEMES, Palette, palette_name, rgb

Triple = tuple[float, float, float]

# Machado, Oliveira and Fernandes 2009, severity 1.0, in linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
COLOURED = [PALETTES[name] for name in THEMES]


def linear(number: int) -> Triple:
    return tuple(
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb(number))
    )  # type: ignore[return-value]


def seen(colour: Triple, kind: str) -> Triple:
    return tuple(
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, colour, strict=True)))) for row in VISION[kind]
    )  # type: ignore[return-value]


def oklab(colour: Triple) -> Triple:
    """Ottosson 2020."""
    r, g, b = colour
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def distance(first: int, second: int, kind: str) -> float:
    a, b = (oklab(seen(linear(number), kind)) for number in (first, second))
    return 100 * sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5


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
