"""Figures have one name each, wherever they are told."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from kvtui.answers import table
from kvtui.cli.topics import topics
from kvtui.sweep import html
from kvtui.sweep import table as sweep_table
from kvtui.terms import GOODPUT, HELD_EMPTY, MEAN_BATCH, PARTS, TERMS, WASTE
from kvtui.tui.view.canvas import Line, plain
from kvtui.tui.view.card import draw_card
from kvtui.tui.view.figures import cache_lines, figure_lines
from kvtui.tui.view.layout import Form
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.summary import summary_lines
from tests.packaging.source import ROOT
from tests.tui.frames import HEADING, scene

SWEEP = (GOODPUT, HELD_EMPTY)
NAMES = {term.name for term in TERMS}
BRIEF = NAMES | {term.brief for term in TERMS}
SINGLE = {  # told at one place alone, or what a lane is and not a figure of it
    *("block size", "  on each GPU", "saved by sharing", "blocks copied", "blocks swapped out"),
    *("fit at the maximum", "fit at the mean length", "fit at the p99 length", "time", "steps"),
}
ONLY_SHOWN = {"running", "waiting", "same-step hits", "of use to others", "prompt chunks", "ended at"}


def bare(label: str) -> str:
    """A label without what is said of it: its place in a spread, its gloss."""
    return re.sub(r"( \(.*\))?(,? (p50|p50 / p99|p99|mean))?$", "", label.strip())


def labels(lines: tuple[Line, ...], *, columns: tuple[int, ...], above: int) -> set[str]:
    """What stands before the figures, in columns of labels that begin at these cells."""
    texts = [plain(line)[at:] for line in lines[above:] for at in columns]
    found = {re.split(r"  |(?<= )(?=\d|n/a)", text)[0] for text in texts if text.strip()}
    return {bare(label) for label in found}


@pytest.fixture
def ended() -> Scene:
    whole = scene(run=Run.ENDED, heading=replace(HEADING, usd_per_hour=3.6, slo="TTFT 2 s"))
    return replace(whole, frames=tuple(replace(frame, done=True) for frame in whole.frames))


def test_no_two_figures_share_a_name_or_a_key() -> None:
    every = (*TERMS, *SWEEP)
    names = [name for term in every for name in {term.name, term.brief}]
    assert len(set(names)) == len(names)
    assert len({term.key for term in every}) == len(every)
    assert set(WASTE) < set(PARTS) < set(TERMS)


def test_the_table_has_them_all() -> None:
    told = {row[0] for row in (*table.ROWS, table.KEPT) if row} - SINGLE
    assert {bare(label) for label in told} == NAMES


@pytest.mark.parametrize("width", [80, 120])
def test_the_summary_names_them(ended: Scene, width: int) -> None:
    page = summary_lines(ended, Look(), width=width)
    (rule,) = (at for at, line in enumerate(page) if "───" in plain(line))
    blank = next(at for at, line in enumerate(page) if at > rule and not plain(line).strip())
    left = len(plain(page[rule])) - len(plain(page[rule]).lstrip())
    told = labels(page[:blank], columns=(left,), above=rule + 1)
    assert len(told) > 8
    assert told - ONLY_SHOWN <= NAMES
    assert any(MEAN_BATCH.name in plain(line) for line in page[:rule])


def test_the_panels_name_them(ended: Scene) -> None:
    told = labels(figure_lines(ended, width=60, height=9), columns=(2, 31), above=1)
    told |= labels(cache_lines(ended, width=60, height=9), columns=(2,), above=1)
    assert len(told) > 12
    assert told - ONLY_SHOWN <= NAMES


@pytest.mark.parametrize("form", Form)
def test_cards_name_them_or_are_brief(ended: Scene, form: Form) -> None:
    card = draw_card(ended, 1, form, Look()).lines()[1:]  # below what the lane is
    text = "\n".join(plain(line).replace("n/a", "") for line in card)
    told = {bare(label) for label in re.findall(r"[a-zA-Z$/]+(?: [a-zA-Z$/]+)*(?:(?<=p)\d\d)?", text)}
    told -= {"cut at", "waiting", "x", "s", "ms"}
    assert len(told) >= 4
    assert told <= BRIEF


def test_a_sweep_names_them() -> None:
    short, long = BRIEF | {term.brief for term in SWEEP}, NAMES | {term.name for term in SWEEP}
    assert set(sweep_table.FIGURES) < short
    assert set(html.FIGURES) < long
    assert all(name in html.COLUMNS for name in ("TTFT", "TPOT", "E2E", "SLO kept", "Goodput", "Held empty"))


def test_readme_and_help_say_what_is_meant() -> None:
    readme, (_, text) = (ROOT / "README.md").read_text("utf-8"), topics()["figures"]
    for term in (*TERMS, *SWEEP):
        assert f"`{term.key}` *{term.name}*" in readme
    for term in {*TERMS, *SWEEP} - set(PARTS):
        assert f"{term.name}  " in text
        assert term.means in text
    waste = " ".join(topics()["waste"][1].split()).lower()
    assert all(term.name in waste for term in PARTS)
