from __future__ import annotations

from kvtui.tui.view.canvas import plain
from kvtui.tui.view.ink import WARN, hue_ink
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
    assert "paged" not in lines[0]
