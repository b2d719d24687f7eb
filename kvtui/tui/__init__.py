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
) -> int:
    """Show an experiment or a recording until the user leaves; gives the exit code.

    0 = left by the user, 1 = an error of kvtui itself, 129 = hang-up, 143 = SIGTERM; the terminal is restored
    in every case. `theme` is dark, light or high-contrast; NO_COLOR wins. `speed` is virtual
    seconds a second, infinity allowed. `filming` records what is shown.
    """
    import asyncio

    from kvtui.tui.terminal import ascii_only, believe_the_terminal, colourless

    believe_the_terminal()
    if colourless():
        theme = "none"
    from kvtui.tui.app import KvtuiApp
    from kvtui.tui.cleanapp import show

    app = KvtuiApp(what, speed=speed, theme=theme, ascii=ascii or ascii_only(), filming=filming)
    try:
        return asyncio.run(show(app, mouse=mouse))
    finally:
        app.stage.stop_filming()
        app.stage.close()


def browse(
    folder: Path, *, theme: str = "dark", ascii: bool = False, mouse: bool = True
) -> tuple[int, Choice | None]:
    """Show the traces of a folder until one is chosen or the user leaves; gives the exit code and what."""
    import asyncio

    from kvtui.tui.terminal import ascii_only, believe_the_terminal, colourless

    believe_the_terminal()
    from kvtui.tui.browse import BrowseApp
    from kvtui.tui.cleanapp import show

    app = BrowseApp(folder, theme="none" if colourless() else theme, ascii=ascii or ascii_only())
    return asyncio.run(show(app, mouse=mouse)), app.return_value
