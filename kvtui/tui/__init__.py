"""The screen. Importing this package is cheap; Textual is loaded by `run`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from kvtui.tui.browse import Choice
    from kvtui.tui.show import Films, Playable


def run(
    what: Playable,
    *,
    speed: float = 4.0,
    theme: str = "dark",
    ascii: bool = False,
    mouse: bool = True,
    filming: Films | None = None,
    language: str | None = None,
    colours: str = "auto",
    tour: bool = False,
) -> int:
    """Show an experiment or a recording until the user leaves; gives the exit code.

    0 = left by the user, 1 = an error of kvtui itself, 129 = hang-up, 131 = SIGQUIT, 143 = SIGTERM; the
    terminal is restored in every case. `theme` is dark, light or high-contrast; `colours` none, 16, 256, or
    auto: what the terminal has, and none under NO_COLOR. `speed` is virtual seconds a second, infinity
    allowed. Without a `language` the locale decides; ASCII has only English. `tour` opens with the tour,
    `filming` records what is shown.
    """
    import asyncio

    from kvtui.tui.terminal import ascii_only, believe_the_terminal, tell_textual
    from kvtui.tui.view.palette import palette_name
    from kvtui.tui.view.words import ENGLISH, language_of

    believe_the_terminal()
    theme = palette_name(theme, tell_textual(colours))
    ascii = ascii or ascii_only()
    language = ENGLISH if ascii else language or language_of()
    from kvtui.tui.app import KvtuiApp
    from kvtui.tui.cleanapp import show

    app = KvtuiApp(what, speed=speed, theme=theme, ascii=ascii, language=language, tour=tour, filming=filming)
    try:
        return asyncio.run(show(app, mouse=mouse))
    finally:
        app.stage.stop_filming()
        app.stage.close()


def browse(
    folder: Path,
    *,
    theme: str = "dark",
    ascii: bool = False,
    mouse: bool = True,
    colours: str = "auto",
    at: str = "",
) -> tuple[int, Choice | None]:
    """Show the traces of a folder until one is chosen or the user leaves; gives the exit code and what. `at`:
    the trace that is chosen at first, which may be in another folder."""
    import asyncio

    from kvtui.tui.terminal import ascii_only, believe_the_terminal, tell_textual
    from kvtui.tui.view.palette import palette_name

    believe_the_terminal()
    theme = palette_name(theme, tell_textual(colours))
    from kvtui.tui.browse import BrowseApp
    from kvtui.tui.cleanapp import show

    app = BrowseApp(folder, theme=theme, ascii=ascii or ascii_only(), at=at)
    return asyncio.run(show(app, mouse=mouse)), app.return_value
