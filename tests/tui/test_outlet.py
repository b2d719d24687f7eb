"""Changes that are sent at once: they end in the picture that Textual would draw, and only where nothing else
is to be seen."""

from __future__ import annotations

import pyte
import pytest

from kvtui.tui import outlet
from kvtui.tui.app import KvtuiApp
from tests.tui.stagecraft import stand_at, still

SIZE = (120, 36)


def listening(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is written to the terminal from now on, as if there were one."""
    written: list[str] = []
    monkeypatch.setattr(outlet, "_writable", lambda app: True)
    monkeypatch.setattr(outlet, "_write", lambda app, text: written.append(text))
    return written


def whole(app: KvtuiApp) -> str:
    """The screen as Textual sends all of it."""
    drawn = app.screen._compositor.render_full_update()
    return drawn.render_segments(app.console)


def cells(*texts: str) -> list[list[tuple[str, str, str]]]:
    screen = pyte.Screen(*SIZE)
    stream = pyte.Stream(screen)
    for text in texts:
        stream.feed(text)
    return [
        [(screen.buffer[y][x].data, screen.buffer[y][x].bg, screen.buffer[y][x].fg) for x in range(SIZE[0])]
        for y in range(SIZE[1])
    ]


async def test_what_is_sent_at_once_makes_the_picture_that_textual_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = still()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        before, written = whole(app), listening(monkeypatch)
        for at in range(40):
            stand_at(app, at / 10)
        assert len(written) > 30
        assert not app.screen._compositor._dirty_regions
        sent, now = cells(before, *written), whole(app)
    meant = cells(now)
    wrong = [(x, y) for y in range(SIZE[1]) for x in range(SIZE[0]) if sent[y][x] != meant[y][x]]
    assert not wrong, [(at, sent[at[1]][at[0]], meant[at[1]][at[0]]) for at in wrong[:5]]
    assert sent != cells(before)


@pytest.mark.parametrize(("over", "shows"), [("toast", "over the lanes"), ("palette", "Search")])
async def test_where_anything_else_is_to_be_seen_textual_draws(
    over: str, shows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = still()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.pause()
        written = listening(monkeypatch)
        if over == "toast":
            app.notify("over the lanes")
        else:
            await pilot.press("ctrl+p")
        await pilot.pause()
        stand_at(app, 1.0)
        assert not written
        await pilot.pause()
        assert shows in "\n".join(strip.text for strip in app.screen._compositor.render_strips())
