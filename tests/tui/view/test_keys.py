from __future__ import annotations

import re
from itertools import pairwise

import pytest

from kvtui.tui.view.canvas import plain
from kvtui.tui.view.footer import footer_line
from kvtui.tui.view.keys import (
    HELP_HINTS,
    SETTINGS_HINTS,
    SUMMARY_HINTS,
    Hint,
    hints,
    inspector_hints,
    keys_for,
)
from kvtui.tui.view.scene import Run
from kvtui.tui.view.useless import useless
from tests.tui.frames import lane


def entries(run: Run, *, panel: str | None = "waiting", **changes: bool) -> list[Hint]:
    known = useless(
        [lane("paged", label="live" if changes.pop("servers", False) else "simulated")],
        fixed=changes.pop("fixed", False),
        live=changes.pop("live", False),
    )
    return hints(run=run, next_panel=panel, useless=known, **({"blocks": True} | changes))


def text(width: int, run: Run, **changes: object) -> str:
    return plain(footer_line(entries(run, **changes), width=width, margin=1)[0]).strip()


def test_the_word_is_what_the_key_does_now() -> None:
    assert text(60, Run.RUNNING) == "space pause  tab waiting  m b a f o lane  ? keys  q quit"
    assert text(60, Run.PAUSED) == "space run  → ← step  tab waiting  ? keys  q quit"
    assert text(60, Run.ENDED) == "S summary  r run again  tab waiting  ? keys  q quit"


@pytest.mark.parametrize("run", list(Run))
@pytest.mark.parametrize("width", [80, 100, 120, 160, 200])
def test_what_changes_and_explains_lanes_is_named_at_every_usual_size(run: Run, width: int) -> None:
    line = text(width, run, panel="chart")
    assert "i inspect" in line
    whole = "m manager  b block size  a add lane  f fork  o settings"
    assert any(words in line for words in ("m b a f o lane", "m manager  b block  a add  f fork", whole))
    assert "e export" in line or (width == 80 and run in (Run.PAUSED, Run.ENDED))


@pytest.mark.parametrize("panel", ["chart", "waiting"])
def test_a_terminal_of_120_cells_is_told_what_each_lane_key_does(panel: str) -> None:
    line = plain(footer_line(entries(Run.RUNNING, panel=panel), width=120, margin=2)[0])
    assert "m manager  b block  a add  f fork  o setup  S summary" in line


def test_wide_terminals_are_told_more() -> None:
    line = text(260, Run.PAUSED)
    for word in (
        "← back",
        "n next event",
        "block size",
        "manager",
        "screenshot",
        "ctrl+p everything",
        "restart",
        "summary",
        "z zoom",
        "? help",
    ):
        assert word in line


def test_keys_that_do_nothing_are_not_shown() -> None:
    assert "tab" not in text(200, Run.RUNNING, panel=None)
    assert "block size" not in text(200, Run.RUNNING, blocks=False)
    assert "m a f o lane" in text(80, Run.RUNNING, blocks=False)
    assert "step" not in text(200, Run.RUNNING)
    recorded = text(260, Run.RUNNING, fixed=True)
    assert not [word for word in ("manager", "lane", "fork", "settings") if word in recorded]
    assert "speed" not in text(260, Run.RUNNING, live=True)
    served = text(260, Run.PAUSED, live=True, fixed=True, servers=True)
    assert not [word for word in ("inspect", "filter", "event", "summary", "restart") if word in served]


def test_the_help_of_what_cannot_be_changed_names_no_key_that_would() -> None:
    simulated, server = lane("paged"), lane("paged", label="live")
    recorded = keys_for(2, useless=useless([simulated, simulated], fixed=True, live=False))
    assert not {"m", "b", "o", "a", "D", "f", "="} & {key.written for key in recorded}
    assert {"space", "n", "enter", "S", "z", "r"} <= {key.written for key in recorded}
    watched = {key.written for key in keys_for(1, useless=useless([server], fixed=True, live=True))}
    assert not {"n", "N", "p P", "[", "]", "r", "enter", "/", "S", "m"} & watched
    assert {"space", "z", "tab", ":", "q"} <= watched
    slots = lane("contiguous", label="live")
    assert {"enter", "/"} <= {k.written for k in keys_for(1, useless=useless([slots], fixed=True, live=True))}
    beside = {key.written for key in keys_for(2, useless=useless([server, simulated], fixed=True, live=True))}
    assert {"enter", "/"} <= beside


@pytest.mark.parametrize("width", range(60, 261, 7))
@pytest.mark.parametrize("run", list(Run))
def test_the_footer_always_fits_and_always_tells_how_to_leave(width: int, run: Run) -> None:
    line = text(width, run)
    assert len(line) <= width - 2
    assert re.search(r"\? (help|keys)  +q quit$", line)


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("shown", [HELP_HINTS, SUMMARY_HINTS, SETTINGS_HINTS])
def test_the_footers_of_pages_fit_too(width: int, shown: tuple[Hint, ...]) -> None:
    line = plain(footer_line(list(shown), width=width, margin=1)[0]).strip()
    assert len(line) <= width - 2
    assert line.endswith((shown[-1].word, shown[-1].short or shown[-1].word))


@pytest.mark.parametrize("width", range(60, 161, 10))
@pytest.mark.parametrize("blocks", [True, False])
def test_the_footer_of_the_inspector_fits_too(width: int, blocks: bool) -> None:
    shown = inspector_hints(Run.PAUSED, blocks=blocks)
    line = plain(footer_line(shown, width=width, margin=1)[0]).strip()
    assert len(line) <= width - 2
    assert line.startswith("esc close  ")
    if width >= 80:
        assert ("  b block" in line or "  b next block" in line) == blocks
        assert ("life" in line) == blocks, "where there are no blocks, life is what is seen"


def test_tab_is_named_only_where_blocks_and_life_are_not_both_seen() -> None:
    for tall in (True, False):
        shown = inspector_hints(Run.PAUSED, blocks=True, tall=tall)
        assert any(hint.key == "tab" for hint in shown) != tall


def test_a_click_on_one_of_several_keys_means_that_one() -> None:
    line, spots = footer_line(entries(Run.PAUSED), width=80, margin=1)
    shown = plain(line)
    actions = {shown[start:end]: action for start, end, action in spots}
    keys = {"m": "manager", "b": "block_size", "a": "add_lane", "f": "branch", "o": "settings"}
    assert actions.items() >= (keys | {"→": "step", "←": "back"}).items()
    assert all(end <= start for (_, end, _), (start, _, _) in pairwise(spots))


def test_a_click_on_a_word_means_its_key() -> None:
    line, spots = footer_line(entries(Run.RUNNING, panel=None), width=120, margin=2)
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
