"""The palettes as Textual themes, so that the command palette and other widgets match the screen."""

from __future__ import annotations

from textual.theme import Theme

from kvtui.tui.view.palette import PALETTES, Palette

NO_COLOUR = "ansi-dark"  # the one theme with which Textual itself sends no colour codes under NO_COLOR


def theme_name(name: str) -> str:
    """Name of the Textual theme of one of our palettes."""
    return NO_COLOUR if name == "none" else f"kvtui-{name}"


def palette_of(theme: str) -> Palette:
    """The palette behind a Textual theme; the dark one for a theme that is not ours."""
    if theme == NO_COLOUR:
        return PALETTES["none"]
    return PALETTES.get(theme.removeprefix("kvtui-"), PALETTES["dark"])


def themes() -> list[Theme]:
    return [_theme(palette) for palette in PALETTES.values() if palette.colour]


def _theme(palette: Palette) -> Theme:
    return Theme(
        name=theme_name(palette.name),
        primary=palette.hex("acc"),
        secondary=palette.hex("base"),
        accent=palette.hex("hot"),
        warning=palette.hex("warn"),
        error=palette.hex("bad"),
        success=palette.hex("acc"),
        foreground=palette.hex("t2"),
        background=palette.hex("bg"),
        surface=palette.hex("well"),
        panel=palette.hex("well"),
        dark=palette.dark,
    )
