"""A screen as text that can be read and compared: its rows, and under them the runs of styles in each."""

from __future__ import annotations

from itertools import groupby

from rich.style import Style
from textual.app import App


def picture(app: App[object]) -> str:
    """Letters name styles in the order in which they are met; they are told at the end."""
    names: dict[str, str] = {}
    rows, styled = [], []
    for strip in app.screen._compositor.render_strips():
        rows.append("".join(segment.text for segment in strip).rstrip())
        cells = [(_named(segment.style, names), segment.cell_length) for segment in strip]
        runs = groupby(cells, key=lambda cell: cell[0])
        styled.append(" ".join(f"{name}{sum(cell[1] for cell in run)}" for name, run in runs))
    legend = [f"{name} = {words}" for words, name in names.items()]
    return "\n".join([*rows, "", *styled, "", *legend])


def _named(style: Style | None, names: dict[str, str]) -> str:
    words = str((style or Style()).without_color if style is None else style.clear_meta_and_links())
    at = len(names)
    return names.setdefault(words, ("" if at < 26 else "zyx"[at // 26 - 1]) + chr(97 + at % 26))
