"""One figure: deviation, what is allowed, and how it is told."""

from __future__ import annotations

import json

import pytest

from kvtui.errors import ConfigError
from kvtui.reproduce import text
from kvtui.reproduce.entry import Entry, missing, named
from kvtui.reproduce.figures import FIGURES, chosen, run
from kvtui.reproduce.scenes import SCENES, scene
from kvtui.reproduce.settings import Settings

KEYS = {"id", "paper", "ours", "deviation", "tolerance", "pass"}


@pytest.mark.parametrize(
    ("entry", "deviation", "passed"),
    [
        (Entry("a", 50, 51, 2.0), 2.0, True),
        (Entry("a", 50, 51.1, 2.0), 2.2, False),
        (Entry("a", 50, 51, 1.0, "pp"), 1.0, True),
        (Entry("a", 7, 7.01, 0.0), 1 / 7, False),
        (Entry("a", 7, 7, 0.0), 0.0, True),
        (Entry("a", 0, 0.2, 0.1, "pp"), 0.2, False),
        (Entry("a", None, 2.0, 10.0, low=1.7, high=2.7), 0.0, True),
        (Entry("a", None, 1.6, 5.0, low=1.7, high=2.7), -100 / 17, False),
        (Entry("a", 50, 90), 80.0, None),
        (missing("a", 50, source="there", note="why"), None, None),
    ],
)
def test_a_figure_passes_within_what_is_allowed(
    entry: Entry, deviation: float | None, passed: bool | None
) -> None:
    assert entry.deviation == (deviation if deviation is None else pytest.approx(deviation))
    assert entry.passed is passed
    data = json.loads(json.dumps(entry.data()))
    assert data.keys() >= KEYS
    assert data["pass"] is passed


def test_a_table_says_pass_fail_and_why_not() -> None:
    entries = [
        Entry("good", 50, 51, 2.0, seeds=(0, 1)),
        Entry("bad", 50, 60, 2.0, note="something | is approximated"),
        missing("gone", 2.0, source="A paper", note="no data"),
    ]
    plain = "\n".join(text.lines(named("fig", entries)))
    assert [line.split()[-1] for line in plain.splitlines()[:2]] == ["pass", "FAIL"]
    assert "no data" in plain
    assert "not here" in plain
    rows = text.markdown(entries).splitlines()
    assert len({row.count("|") for row in rows}) == 1
    tally = text.tally(entries).splitlines()
    assert tally[0] == "1 of 2 judged figures within what is allowed, 1 reported only."
    assert [line.split()[0] for line in tally[2:]] == ["bad"]
    assert text.tally(entries[:1]) == "1 of 1 judged figures within what is allowed, 0 reported only."


def test_what_is_said_of_a_row_stands_below_it() -> None:
    notes = ["drawn", "drawn", "of this one", "drawn"]
    plain = text.lines([Entry(f"row{i}", 1, 1, note=note) for i, note in enumerate(notes)])
    assert [line.split()[0] for line in plain] == ["row0", "row1", "drawn", "row2", "of", "row3", "drawn"]
    shared = text.lines(named("fig", [Entry("a", 1, 1), Entry("b", 1, 1, note="own.")], note="of all."))
    assert [line.split()[0] for line in shared] == ["fig.a", "fig.b", "own", "of"]
    assert text.lines([]) == []


def test_figures_come_in_the_order_asked_for_or_as_they_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["pagedattention.fig19", "vllm.mla", "vllm.fp8"]
    monkeypatch.setattr("kvtui.reproduce.figures.WORKERS", 2)
    assert [name for name, _ in run(names, Settings())] == names
    found = dict(run(names, Settings(), as_done=True))
    assert found == dict(run(names, Settings()))


def test_figures_are_found_by_their_last_name_and_by_paper() -> None:
    assert chosen("fig2") == ["pagedattention.fig2"]
    assert chosen("vllm") == ["vllm.fp8", "vllm.mla"]
    assert chosen(None) == list(FIGURES)
    with pytest.raises(ConfigError, match="no figure"):
        chosen("fig99")


@pytest.mark.parametrize("name", SCENES)
def test_every_scene_runs(name: str) -> None:
    assert chosen(name)
    experiment = scene(name, Settings())
    for lane in experiment.build():
        for _ in range(40):
            lane.step()
        assert lane.frame().counters.running


def test_a_figure_without_a_scene_says_so() -> None:
    with pytest.raises(ConfigError, match="nothing to watch"):
        scene("vllm.fp8", Settings())
