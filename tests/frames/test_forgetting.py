"""What a chronicle has forgotten is told as that, and a run without a screen forgets nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kvtui.cli.run import headless
from kvtui.exports import LaneExhibit
from kvtui.exports.data import as_csv, as_json
from kvtui.exports.exhibit import request_rows
from kvtui.exports.exhibits import exhibit_of_recording
from kvtui.exports.page import as_html
from kvtui.frames import ledger
from kvtui.frames.chronicle import EVER, KINDS, Chronicle
from kvtui.frames.frame import EventKind
from kvtui.frames.inspection import Inspected, Stand, inspect
from kvtui.recording import Recording
from kvtui.tui.exporting import _forgotten
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.inspector import inspector_lines, sentence
from tests.exports.test_exports import exhibit
from tests.recording.films import film
from tests.tui.frames import scene
from tests.tui.stagecraft import small


@pytest.fixture
def short_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chronicles that keep a few hundred rows only."""
    exhibit()
    monkeypatch.setattr(ledger.Ledger.__init__, "__kwdefaults__", {"most": 300})


def forgetful() -> LaneExhibit:
    """The paged lane of a run, at its end, with the events that are left of it."""
    whole = exhibit().lanes[1]
    told = Chronicle()
    rows = whole.chronicle.events.rows
    (known,) = np.flatnonzero((rows[:, 2] == KINDS.index(EventKind.ARRIVED)) & (rows[:, 3] == 100))
    told.events.extend(rows[known:])
    told.events._written = len(rows)
    return replace(whole, chronicle=told)


def test_a_request_of_forgotten_beginning_is_unknown() -> None:
    lane = forgetful()
    whole = {row.request: row for row in request_rows(exhibit().lanes[1])}
    rows = request_rows(lane)
    assert len(rows) < len(whole)
    late = [row for row in rows if row.arrival_s is None]
    assert late
    for row in late:
        assert (row.admitted_s, row.preemptions, row.hit_tokens, row.recomputed_tokens) == (None,) * 4
        assert row.state == whole[row.request].state
    known = [row for row in rows if row.arrival_s is not None]
    assert known == [whole[row.request] for row in known] != []


def test_exports_say_how_much_is_not_known() -> None:
    lane = forgetful()
    shown = replace(exhibit(), lanes=(exhibit().lanes[0], lane))
    count = lane.forgotten
    assert [told["events_forgotten"] for told in json.loads(as_json(shown))["lanes"]] == [0, count]
    assert f"still known; the first {count:,} events are not" in as_html(shown)
    assert as_html(shown).count("still known") == 1
    assert _forgotten(shown) == f" Paged: the first {count:,} events are no longer known."
    assert _forgotten(exhibit()) == ""


def test_an_inspector_does_not_call_it_not_arrived() -> None:
    lane = forgetful()
    gone = min(set(range(150)) - {row.request for row in request_rows(lane)})
    seen = inspect(lane.info, lane.frame, lane.chronicle, gone)
    assert seen.stand is Stand.UNKNOWN
    shown, picture = Inspected(gone, 1, (seen, seen)), scene()
    assert f"the first {lane.forgotten:,} events are no longer known" in sentence(picture, shown)
    title = plain(inspector_lines(picture, shown, width=100, height=20)[0])
    assert "beginning is not known" in title
    last = max(row.request for row in request_rows(lane))
    early = replace(lane.frame, done=False, step=int(lane.chronicle.life(last, EVER)[0].step) - 1)
    assert inspect(lane.info, early, lane.chronicle, last).stand is Stand.COMING, "it is known to come"


def test_a_branch_knows_what_its_origin_forgot() -> None:
    lane, branch = forgetful(), Chronicle()
    branch.inherit(lane.chronicle, EVER, arrived=150)
    assert branch.events.forgotten == lane.forgotten
    assert len(branch.since(0, tuple(EventKind))) == len(branch.events.rows)


@pytest.mark.usefixtures("short_memory")
def test_a_run_without_a_screen_and_a_recording_forget_nothing(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    film(path, small(requests=150))
    assert as_csv(exhibit_of_recording(Recording(path))) == as_csv(exhibit())
    out = tmp_path / "run.csv"
    headless(small(requests=150), None, as_json=False, exports=[out])
    assert out.read_text() == as_csv(exhibit())
