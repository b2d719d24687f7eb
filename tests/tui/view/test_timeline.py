from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.frames.chronicle import Chronicle
from kvtui.frames.frame import EventKind
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.glyphs import in_ascii
from kvtui.tui.view.ink import BAD, RULE, T3, WARN
from kvtui.tui.view.scene import Mark
from kvtui.tui.view.timeline import MARKS, Marks, time_at, timeline_line, whole_s
from tests.tui.frames import HEADING, counters, paged_frame, scene


def text(**changes: object) -> str:
    return plain(timeline_line(scene(**changes), width=60, margin=1))


def test_played_head_and_rest_when_the_end_is_known() -> None:
    assert text(marks=()) == " 01:14.0  ━━━━━━━━━●───────────────  03:13.0  ╋ preempted 8 "


def test_without_a_known_end_there_is_room_behind_the_head() -> None:
    long = replace(HEADING, span_s=100.0)
    assert text(marks=(), end_s=None, heading=long) == (
        " 01:14.0  ━━━━━━━━━━━━━━━━━━━━━━━━●─────────  ╋ preempted 8 "
    )
    for time_s in (1.0, 74.0, 96.0, 500.0, 1e5):
        shown = scene(heading=long, end_s=None, time_s=time_s)
        assert whole_s(shown) >= max(100.0, time_s / 0.95), "over the span of the trace, and never full"
        assert whole_s(shown) in {100.0 * 2**n for n in range(12)}
    assert whole_s(scene(end_s=193.0)) == 193.0


def test_a_mark_stands_at_its_time() -> None:
    line = timeline_line(scene(marks=(Mark(30.0, "preempted"),), end_s=None), width=60, margin=1)
    assert plain(line)[10 + round(30 / 128 * 33)] == "╋"
    assert ("╋", WARN) in line


def test_the_worst_of_several_is_seen_and_a_crowd_becomes_a_stretch() -> None:
    both = (Mark(30.0, "rejected"), Mark(30.0, "preempted"))
    assert "╳" in text(marks=both, end_s=None)
    crowd = tuple(Mark(30.0 + 2.3 * at, "preempted") for at in range(6))
    line = timeline_line(scene(marks=crowd, end_s=None), width=60, margin=1)
    assert "═" * 4 in next(run for run, ink in line if ink == WARN)


def test_rejections_are_counted_beside_preemptions() -> None:
    refused = paged_frame(counters=counters(rejected=2, preemptions=8))
    line = timeline_line(scene(frames=(refused,), lanes=scene().lanes[1:]), width=120, margin=2)
    assert plain(line).rstrip().endswith("╋ preempted 8  ╳ rejected 2")
    assert ("╳", BAD) in line


def test_marks_are_taken_once() -> None:
    marks, told = Marks(1), Chronicle()
    told.note([(10, 10**12, EventKind.PREEMPTED, 1, 2, 3)])
    marks.read(0, told)
    marks.read(0, told)
    told.note([(20, 2 * 10**12, EventKind.REJECTED, 4, 5, 6), (30, 3 * 10**12, EventKind.FINISHED, 7, 8, 9)])
    marks.read(0, told)
    assert marks.all() == (Mark(1.0, "preempted"), Mark(2.0, "rejected"))


def test_marks_do_not_grow_without_end() -> None:
    marks, told = Marks(1), Chronicle()
    told.note((at, at * 10**11, EventKind.PREEMPTED, 1, 2, 3) for at in range(20_000))
    marks.read(0, told)
    assert len(marks.all()) < 5000


def test_what_was_reached_stays_on_the_line_while_an_earlier_moment_is_shown() -> None:
    ahead = (Mark(70.0, "preempted"),)
    line = timeline_line(scene(time_s=20.0, reached_s=74.0, marks=ahead), width=60, margin=1)
    shown = plain(line)
    assert shown.index("●") < shown.index("╋") < shown.index("preempted") - 10
    rests = {ink for text, ink in line if set(text) == {"─"}}
    assert rests == {T3, RULE}
    assert whole_s(scene(time_s=1.0, reached_s=500.0, end_s=None)) > 500.0, "and its scale"


def test_a_column_is_a_time() -> None:
    shown = scene(marks=())
    line = plain(timeline_line(shown, width=60, margin=1))
    first, head, last = line.index("━"), line.index("●"), line.rindex("─")
    at = [time_at(shown, x, width=60, margin=1) for x in (first - 1, first, head, last, last + 1)]
    assert (at[0], at[1], at[4]) == (None, 0.0, None)
    assert at[2] == pytest.approx(74.0, abs=193.0 / 25)
    assert at[3] == 193.0


def test_every_kind_of_mark_has_a_shape_of_its_own() -> None:
    for shapes in ([glyph for glyph, _ in MARKS.values()], [in_ascii(glyph) for glyph, _ in MARKS.values()]):
        assert len(set(shapes)) == len(MARKS)
