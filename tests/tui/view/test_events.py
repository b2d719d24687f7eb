from __future__ import annotations

import pytest

from kvtui.frames.frame import Event, EventKind
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.events import detail, event_lines, newest
from kvtui.tui.view.ink import WARN_BOLD, hue_ink
from tests.tui.frames import BLOCKS, contiguous_frame, lane, paged_frame, scene


def test_all_lanes_newest_first() -> None:
    lines = event_lines(scene(), width=60, height=6, hint="tab: queues")
    assert [plain(line).rstrip() for line in lines] == [
        "  Events  newest first" + "tab: queues".rjust(36),
        "  01:14.0  Paged      ▍r279  preempted  no block for r266",
        "  01:13.7  Paged      ▍r227  finished   304 tok in 15.8 s",
        "  01:13.7  Paged      ▍r279  admitted   305 tok · 20 blocks",
        "  01:13.6  Paged      ▍r215  finished   351 tok in 18.1 s",
        "  01:13.6  Paged      ▍r278  admitted   318 tok · 20 blocks",
    ]
    assert ("preempted", WARN_BOLD) in lines[1]
    assert ("▍", hue_ink(279)) in lines[1]


def test_every_lane_goes_by_its_own_title() -> None:
    text = [plain(line).rstrip() for line in event_lines(scene(), width=80, height=9)]
    assert "  01:13.5  Contiguous ▍r130  finished   357 tokens in 40.1 s" in text
    lanes = (lane("contiguous"), lane("paged"), lane("paged", title="My-own-long-name"))
    shown = scene(lanes=lanes, frames=(contiguous_frame(), contiguous_frame(), paged_frame()))
    text = [plain(line).rstrip() for line in event_lines(shown, width=60, height=9)]
    assert text[1] == "  01:14.0  My-own-lo… ▍r279  preempted  no block for r266"


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Event(0, 0, EventKind.ADMITTED, 1, 1305, 20), "1,305 tokens · 20 blocks"),
        (Event(0, 0, EventKind.HIT, 1, 96, 305), "96 of 305 tokens were cached"),
        (Event(0, 0, EventKind.PREEMPTED, 1, 20, 266), "no free block for r266"),
        (Event(0, 0, EventKind.FINISHED, 1, 304, 850), "304 tokens in 850 ms"),
        (Event(0, 0, EventKind.REJECTED, 1, 2600, BLOCKS), "needs 2,600 blocks, the pool has 2,500"),
        (Event(0, 0, EventKind.REJECTED, 1, 9000, 2048), "needs 9,000 tokens, the limit is 2,048"),
        (Event(0, 0, EventKind.EVICTED, 1, 1, 1), "1 block others could have used"),
    ],
)
def test_details(event: Event, text: str) -> None:
    assert detail(event, lane("paged"), room=60) == text


def test_a_refusal_has_a_short_form() -> None:
    event = Event(0, 0, EventKind.REJECTED, 1, 50_466, 40_688)
    assert detail(event, lane("paged"), room=23) == "50,466 tokens > 40,688"


def test_a_flood_of_evictions_is_told_as_one() -> None:
    flood = tuple(Event(70.0 - at / 10, 700 - at, EventKind.EVICTED, at, 2, at) for at in range(50))
    other = Event(60.0, 600, EventKind.FINISHED, 9, 10, 1000)
    shown = scene(frames=(contiguous_frame(events=()), paged_frame(events=(*flood, other))))
    events = [event for _, event in newest(shown)]
    assert [event.kind for event in events] == [EventKind.EVICTED, EventKind.FINISHED]
    assert events[0].a == 100
    assert events[0].time_s == 70.0


def test_where_there_is_no_room_the_detail_goes_and_the_id_stays() -> None:
    line = plain(event_lines(scene(), width=40, height=2, margin=1)[1]).rstrip()
    assert line == " 01:14.0  Paged      ▍r279  preempted"
