from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.tui.view.canvas import plain
from kvtui.tui.view.ink import WARN, hue_ink
from kvtui.tui.view.listing import Listing, problem
from kvtui.tui.view.queues import queue_lines, running_lines, waiting_lines
from tests.tui.frames import contiguous_frame, counters, paged_frame, scene


def text(lines: tuple) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def test_waiting_lane_beside_lane() -> None:
    lines = waiting_lines(scene(), width=60, height=6)
    assert text(lines) == [
        "  Waiting 143      Contiguous  Waiting 15            Paged",
        "  ▍r151     660 tok    33.5 s  ▍r279     291 tok     5.3 s",
        "  ▍r152     623 tok    33.2 s  ▍r280     419 tok     4.8 s",
        "  ▍r153     586 tok    32.9 s  ▍r281     369 tok     4.6 s",
        "  ▍r154     549 tok    32.6 s  ▍r282     319 tok     4.4 s",
        "  and 139 more                 and 11 more",
    ]
    assert ("r279", WARN) in lines[1], "put back in the queue by a preemption"


def test_running_nearest_to_the_end_first_with_progress_in_the_hue_of_the_request() -> None:
    lines = running_lines(scene(), width=60, height=6)
    assert text(lines)[1] == "  ▍r138  ███████    179/  201  ▍r195  ███████▋ 1,242/1,283"
    assert text(lines)[5] == "  and 15 more                  and 62 more"
    assert any(ink == hue_ink(138).on("well") for _, ink in lines[1])


def test_a_queue_that_fits_is_shown_to_its_end() -> None:
    few = paged_frame(counters=counters(waiting=5), waiting=paged_frame().waiting[:5])
    lines = text(waiting_lines(scene(frames=(contiguous_frame(), few)), width=60, height=6))
    assert "more" not in lines[5][31:]
    assert lines[5][31:].startswith("▍r283")


def test_more_are_waiting_than_the_frame_names() -> None:
    lines = text(waiting_lines(scene(), width=60, height=40))
    assert lines[12].startswith("  ▍r162")
    assert lines[13].startswith("  and 131 more")


def test_both_queues_where_there_is_room() -> None:
    lines = text(queue_lines(scene(), width=62, height=22))
    assert lines[0].startswith("  Waiting 143")
    assert [at for at, line in enumerate(lines) if line.startswith("  Running 19")] == [9]
    assert len(lines) == 22


def test_a_narrow_panel_shows_the_lanes_that_fit() -> None:
    lines = text(waiting_lines(scene(), width=40, height=6, margin=1))
    assert "Contiguous" in lines[0]
    assert "Paged" not in lines[0]
    lines = text(waiting_lines(scene(focus=1), width=40, height=6, margin=1))
    assert lines[0].endswith("Paged"), "the chosen lane among them"


def listed(text: str, first: int = 0) -> list[str]:
    return [plain(line) for line in waiting_lines(scene(listing=Listing(text, first)), width=60, height=6)]


def test_a_filter_by_request_or_state_keeps_the_order() -> None:
    assert [line.strip()[:5].rstrip() for line in listed("15")][1:] == [
        "▍r151",
        "▍r152",
        "▍r153",
        "▍r154",
        "and 5",
    ]
    assert listed("r28")[0].startswith("  Waiting /r28 0 of 143")
    assert listed("279-280")[2].split()[:2] == ["▍r280", "419"]
    assert "r279" in listed("preempted")[1]
    assert listed("preempted")[2].strip() == ""
    assert "none of them" in listed("preempted 28")[1]


def test_the_numbers_of_a_filtered_queue_are_never_cut() -> None:
    many = tuple(replace(frame, counters=frame.counters._replace(waiting=12_345)) for frame in scene().frames)
    for width in (40, 60, 62, 80, 120):
        shown = scene(frames=many, listing=Listing("preempted 27"))
        head = plain(waiting_lines(shown, width=width, height=6)[0])
        assert head.count(" of 12,345 ") == (1 if width < 60 else 2)
        assert head.count(" Con") == 1, "and whose they are is seen"
    assert "/preemp" in plain(waiting_lines(scene(listing=Listing("preempted")), width=80, height=6)[0])


def test_a_page_further_says_what_is_above() -> None:
    lines = listed("", 4)
    assert lines[1].split()[0] == "▍r155"
    assert "4 above, 135 below" in lines[5]
    assert "8 above" in listed("", 1000)[5], "never behind the last row that is known"


def test_running_requests_by_what_they_compute() -> None:
    frames = contiguous_frame(), paged_frame()
    decoding = running_lines(scene(frames=frames, listing=Listing("answer")), width=60, height=6)
    prompts = running_lines(scene(frames=frames, listing=Listing("pro")), width=60, height=6)
    assert "12 of 19" in plain(decoding[0])
    assert "0 of 19" in plain(prompts[0])


@pytest.mark.parametrize(
    ("text", "fine"), [("12 wait", True), ("", True), ("r1-r9", True), ("finished", False)]
)
def test_what_makes_no_filter_is_said(text: str, fine: bool) -> None:
    assert (problem(text) is None) == fine
