"""The palettes as Textual themes, so that the command palette and other widgets match the screen."""

from __future__ import annotations

from textual.theme import Theme

from kvtui.tui.view.palette import PALETTES, THEMES, Palette, palette_name

# With these Textual itself sends the terminal's sixteen colours, or under NO_COLOR none.
ANSI_DARK, ANSI_LIGHT = "ansi-dark", "ansi-light"


def theme_name(palette: str) -> str:
    """Name of the Textual theme of one of our palettes."""
    if palette in THEMES:
        return f"kvtui-{palette}"
    return ANSI_DARK if PALETTES[palette].dark else ANSI_LIGHT


def palette_of(theme: str, bits: int) -> Palette:
    """The palette behind a Textual theme where colours have so many bits; for a theme that is not ours the
    dark one."""
    ours = "light" if theme == ANSI_LIGHT else theme.removeprefix("kvtui-")
    return PALETTES[palette_name(ours if ours in THEMES else "dark", bits)]


def themes() -> list[Theme]:
    return [_theme(PALETTES[name]) for name in THEMES]


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
