"""How colours are seen: distances in OKLab, after simulating three kinds of colour blindness."""

from __future__ import annotations

from kvtui.tui.view.palette import Palette, rgb

Triple = tuple[float, float, float]
Rgb = tuple[int, int, int]

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

# The sixteen as xterm has them, and as the console of a PC; every terminal may have others.
XTERM = (
    *((0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0)),
    *((0, 0, 238), (205, 0, 205), (0, 205, 205), (229, 229, 229)),
    *((127, 127, 127), (255, 0, 0), (0, 255, 0), (255, 255, 0)),
    *((92, 92, 255), (255, 0, 255), (0, 255, 255), (255, 255, 255)),
)
CONSOLE = (
    *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0)),
    *((0, 0, 170), (170, 0, 170), (0, 170, 170), (170, 170, 170)),
    *((85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85)),
    *((85, 85, 255), (255, 85, 255), (85, 255, 255), (255, 255, 255)),
)
TABLES = {"xterm": XTERM, "console": CONSOLE}


def linear(number: int) -> Triple:
    return _linear(rgb(number))


def _linear(triple: Rgb) -> Triple:
    return tuple(
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in triple)
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


def colour(palette: Palette, role: str, table: tuple[Rgb, ...]) -> Rgb:
    """What a role looks like where the first sixteen numbers are those of `table`."""
    number = palette.roles[role]
    if number < 0:
        return (0, 0, 0) if palette.dark else (255, 255, 255)
    return table[number] if number < 16 else rgb(number)


def apart(one: Rgb, other: Rgb) -> float:
    """The distance of two colours for whoever tells them apart worst."""
    return min(between(one, other, kind) for kind in VISION)


def between(one: Rgb, other: Rgb, kind: str) -> float:
    a, b = (oklab(seen(_linear(triple), kind)) for triple in (one, other))
    return 100 * sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5


def distance(first: int, second: int, kind: str) -> float:
    a, b = (oklab(seen(linear(number), kind)) for number in (first, second))
    return 100 * sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) ** 0.5
