from __future__ import annotations

import pytest

from kvtui.tui.view.canvas import plain
from kvtui.tui.view.footer import footer_line
from kvtui.tui.view.keys import hints, keys_for
from kvtui.tui.view.scene import Run


def text(width: int, run: Run, *, panel: str | None = "waiting", blocks: bool = True) -> str:
    entries = hints(run=run, next_panel=panel, blocks=blocks)
    return plain(footer_line(entries, width=width, margin=1)[0]).strip()


def test_the_word_is_what_the_key_does_now() -> None:
    assert text(60, Run.RUNNING) == "space pause  [ ] speed  tab waiting  ? help  q quit"
    assert text(60, Run.PAUSED) == "space run  → step  ← back  tab waiting  ? help  q quit"
    assert text(60, Run.ENDED) == "S summary  r run again  tab waiting  ? help  q quit"


def test_wide_terminals_are_told_more() -> None:
    line = text(200, Run.PAUSED)
    for word in (
        "← back",
        "n next event",
        "block size",
        "manager",
        "screenshot",
        "ctrl+p everything",
        "restart",
        "summary",
    ):
        assert word in line


def test_keys_that_do_nothing_are_not_shown() -> None:
    assert "tab" not in text(200, Run.RUNNING, panel=None)
    assert "block size" not in text(200, Run.RUNNING, blocks=False)
    assert "step" not in text(200, Run.RUNNING)


@pytest.mark.parametrize("width", range(60, 201, 7))
@pytest.mark.parametrize("run", list(Run))
def test_the_footer_always_fits_and_always_tells_how_to_leave(width: int, run: Run) -> None:
    line = text(width, run)
    assert len(line) <= width - 2
    assert line.endswith("? help  q quit") or line.endswith("? help   q quit")


def test_a_click_on_a_word_means_its_key() -> None:
    line, spots = footer_line(hints(run=Run.RUNNING, next_panel=None, blocks=True), width=120, margin=2)
    start, end, action = spots[0]
    assert (plain(line)[start:end], action) == ("space pause", "toggle_pause")
    assert spots[-1][2] == "app.quit"


def test_no_key_means_two_things() -> None:
    for lanes in (1, 2, 4):
        keys = [name for key in keys_for(lanes) for name in key.keys.split(",")]
        assert len(keys) == len(set(keys))
    chosen = [key.written for key in keys_for(4) if key.action.startswith("focus_lane")]
    assert chosen == ["1", "2", "3", "4"]
    assert not [key for key in keys_for(1) if key.action.startswith("focus_lane")]
