"""What is said in which situation, and that it stays long enough to be read."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from kvtui.frames.counts import Split
from kvtui.frames.frame import Event, EventKind, Frame
from kvtui.tui.view.canvas import line_width, plain
from kvtui.tui.view.captions import Room, caption
from kvtui.tui.view.formats import share, shares
from kvtui.tui.view.ink import WARN_BOLD, lane_ink
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.situation import HOLD_S, Narrator, Situation, situation
from kvtui.tui.view.split import parts_of
from tests.tui.frames import (
    cells_of,
    contiguous_frame,
    counters,
    empty_frame,
    lane,
    paged_frame,
    scene,
)


def said(shown: Scene, *, width: int = 116, rows: int = 2) -> list[str]:
    return [plain(line) for line in caption(shown, situation(shown), Room(width, rows))]


def counted(frame: Frame, **changes: object) -> Frame:
    return replace(frame, counters=frame.counters._replace(**changes))


def test_full_in_three_widths() -> None:
    assert said(scene()) == [
        "Contiguous is full at 19: each request locks 2,048 slots and has filled 402 of them on average.",
        "Paged hands out 16 slots at a time: the same memory holds 66,"
        " and 1.4% of it sits in unfilled block ends.",
    ]
    assert said(scene(), width=78) == [
        "Contiguous is full at 19: each locks 2,048 slots and has filled 402.",
        "Paged adds 16 slots at a time: the same memory holds 66.",
    ]
    assert said(scene(), width=58, rows=1) == ["Locked: 2,048 each. Filled: 402. Full at 19; paged: 66."]


def test_block_ends_are_those_of_the_list_of_parts() -> None:
    frame = counted(paged_frame(), split=Split(96.23, 0, 0, 0, 1.24, 2.53, 0))
    info = scene().lanes[1]
    parts = parts_of(frame, info, 1, Look())
    texts = shares([part.percent for part in parts], whole=False)
    (listed,) = (text for part, text in zip(parts, texts, strict=True) if part.label == "block ends")
    told = said(scene(frames=(contiguous_frame(), frame)))[1]
    assert f"{listed} of its memory sits in unfilled block ends" in told
    assert listed != share(1.24), "which would not add up"


def test_numbers_wear_the_colour_of_what_they_count() -> None:
    first, second = caption(scene(), Situation("full"), Room(116, 2))
    assert ("19", lane_ink(0, bold=True)) in first
    assert ("402", WARN_BOLD) in first
    assert ("66", lane_ink(1, bold=True)) in second


def test_before_anything_has_run() -> None:
    start = scene(frames=(empty_frame(), empty_frame()), time_s=0.0)
    assert said(start) == ["Every lane starts empty. Watch how each gives out the same memory."]


def test_both_keep_up() -> None:
    easy = scene(
        frames=(counted(contiguous_frame(), waiting=0), counted(paged_frame(), running=21, waiting=0))
    )
    assert said(easy) == ["Both keep up: 19 and 21 requests run, nobody waits."]


def test_nothing_to_do_for_a_while() -> None:
    idle = scene(frames=tuple(counted(f, running=0, waiting=0) for f in (contiguous_frame(), paged_frame())))
    assert said(idle) == ["Nothing runs and nobody waits: the next request has not come yet."]


def test_those_who_wait_while_nothing_runs_are_told_of() -> None:
    turn = scene(frames=tuple(counted(frame, running=0, waiting=2) for frame in scene().frames))
    assert said(turn) == ["Nothing runs: those who wait begin with the next step."]


def test_what_is_told_of_running_and_waiting_is_true_of_every_frame() -> None:
    for frames in product((0, 17), (0, 11), repeat=2):
        runs, waits = frames[::2], frames[1::2]
        pairs = zip(easy().frames, runs, waits, strict=True)
        shown = scene(frames=tuple(counted(f, running=r, waiting=w) for f, r, w in pairs))
        for before in (easy(), nobody()):
            narrator = Narrator()
            narrator.tell(before, now=0.0)
            told = narrator.tell(shown, now=HOLD_S / 20)
            words = " ".join(plain(line) for line in caption(shown, told, Room(116, 2)))
            assert ("nobody waits" in words) == (not any(waits)), words
            assert ("Nothing runs" in words) == (not any(runs)), words


def test_no_request_fits() -> None:
    refused = replace(empty_frame(), step=1, counters=counters(rejected=9))
    assert said(scene(frames=(refused, refused)))[0].startswith("No request fits")


def test_paging_wins_little() -> None:
    level = scene(frames=(contiguous_frame(), counted(paged_frame(), running=20, batch_mean=19.0)))
    assert said(level) == ["Paging wins little on this traffic: contiguous holds 19, paged 20."]


def test_one_lane_is_done() -> None:
    done = counted(replace(paged_frame(), done=True, time_s=115.1), running=0, waiting=0, finished=340)
    assert said(scene(frames=(contiguous_frame(), done))) == [
        "Paged has finished everything at 01:55.1; contiguous still has 178 requests to go."
    ]


def test_one_request_is_one_request() -> None:
    done = counted(replace(paged_frame(), done=True, time_s=115.1), running=0, waiting=0, finished=340)
    late = counted(contiguous_frame(), unfinished=1)
    assert said(scene(frames=(late, done)))[0].endswith("contiguous still has 1 request to go.")


def test_the_end_names_the_quicker_lane_and_offers_the_summary() -> None:
    frames = (replace(contiguous_frame(), time_s=193.0), replace(paged_frame(), time_s=115.1))
    assert said(scene(frames=frames, run=Run.ENDED)) == [
        "Paged finished in 01:55.1, contiguous in 03:13.0: the same GPU, 1.7 times as fast.",
        "S shows the summary.",
    ]
    assert said(scene(frames=frames[::-1], lanes=scene().lanes[::-1], run=Run.ENDED))[0].startswith(
        "Paged finished"
    )
    level = (frames[0], replace(paged_frame(), time_s=190.0))
    assert "no difference" in said(scene(frames=level, run=Run.ENDED))[0]


def test_a_lane_that_has_let_everybody_in() -> None:
    last = counted(paged_frame(), running=2, waiting=0, finished=338, unfinished=2)
    assert (
        said(scene(frames=(contiguous_frame(), last)))[1] == "Paged has let everybody in. Still running: 2."
    )


def test_a_lane_is_not_the_last_while_others_are_yet_to_come() -> None:
    early = counted(paged_frame(), running=8, waiting=0, finished=34, unfinished=306)
    assert "let everybody in" not in said(scene(frames=(contiguous_frame(), early)))[1]


def test_a_region_that_has_just_come_free_makes_no_difference() -> None:
    free = counted(contiguous_frame(), running=18, split=Split(19, 12, 60.8, 2.7, 0, 0, 5.5))
    assert said(scene(frames=(free, paged_frame())))[0].startswith("Contiguous is full at 19: ")
    assert "Full at 19;" in said(scene(frames=(free, paged_frame())), width=58, rows=1)[0]


def test_a_lane_of_regions_that_fit_is_full_only_where_the_next_one_does_not() -> None:
    exact = lane("contiguous", name="exact", title="Exact", region_blocks=None)
    for free, words in ((0, "is full at 19"), (4, "runs 19")):
        frame = counted(contiguous_frame(), split=Split(19.1, 12.5, 61.7, 6.7 - free, 0, 0, free))
        lines = said(scene(lanes=(exact, lane("paged")), frames=(frame, paged_frame())))
        assert lines[0].startswith(f"Exact {words}: ")


def test_two_paged_lanes_that_differ_in_the_prefix_cache() -> None:
    refs = [3, 2, 1, 1]
    cells = cells_of([3] * 4, [1] * 4, [16] * 4, refs)
    off = counted(paged_frame(), running=53, query_tokens=0)
    on = replace(counted(paged_frame(), running=68, query_tokens=900, hit_tokens=400), cells=cells)
    lanes = (lane("paged", title="Paged"), lane("paged", name="cache", title="Cache"))
    assert said(scene(lanes=lanes, frames=(off, on))) == [
        "Without the prefix cache 53 requests run: each keeps its own copy of the same opening prompt.",
        "With it 68 run: 2 blocks are shared and save 3 copies.",
    ]


def test_the_order_of_lanes_that_differ_in_the_prefix_cache() -> None:
    off = counted(paged_frame(), running=53, query_tokens=0)
    on = counted(paged_frame(), running=68, query_tokens=900, hit_tokens=400)
    lines = said(scene(lanes=(lane("paged"),) * 2, frames=(on, off)))
    assert lines[0].startswith("With the prefix cache 68 requests run: ")
    assert lines[1].startswith("Without it 53 run: ")


def test_what_differs_from_a_contiguous_lane_is_not_the_prefix_cache() -> None:
    exact = lane("contiguous", name="exact", title="Exact", region_blocks=None)
    cached = counted(paged_frame(), query_tokens=900, hit_tokens=400)
    lines = said(scene(lanes=(exact, lane("paged", block_size=32)), frames=(contiguous_frame(), cached)))
    assert lines[0].startswith("Exact is full at 19: each request locks 2,048 slots")
    assert lines[1].startswith("Paged hands out 32 slots at a time: the same memory holds 66")


def test_a_lane_holds_what_it_runs_only_when_it_is_full() -> None:
    roomy = Split(40, 0, 0, 0, 1, 0, 59)
    frames = tuple(counted(f, split=roomy) for f in (contiguous_frame(), paged_frame()))
    lines = said(scene(frames=frames))
    assert lines[0].startswith("Contiguous runs 19: ")
    assert lines[1] == (
        "Paged hands out 16 slots at a time and runs 66; 1.0% of its memory sits in unfilled block ends."
    )
    assert said(scene(frames=frames), width=58, rows=1) == ["Contiguous runs 19, paged runs 66."]
    long = paged_frame().waiting[0]._replace(tokens=30_000)
    waiting = replace(frames[1], waiting=(long,))
    assert "the same memory holds 66" in said(scene(frames=(frames[0], waiting)))[1], "it waits for memory"


def test_names_that_the_user_gave_stay_as_they_are() -> None:
    lanes = (lane("contiguous"), lane("paged", name="FP8", title="FP8"))
    frames = tuple(counted(f, waiting=0) for f in (contiguous_frame(), paged_frame()))
    ended = scene(
        lanes=lanes,
        frames=(replace(frames[0], time_s=100.0), replace(frames[1], time_s=150.0)),
        run=Run.ENDED,
    )
    assert (
        said(ended)[0] == "Contiguous finished in 01:40.0, FP8 in 02:30.0: the same GPU, 1.5 times as fast."
    )


def test_three_lanes_that_keep_up_are_not_both() -> None:
    frames = tuple(counted(f, waiting=0) for f in (contiguous_frame(), paged_frame(), paged_frame()))
    lanes = (*scene().lanes, lane("paged", name="third", title="Third"))
    assert said(scene(lanes=lanes, frames=frames)) == [
        "All keep up: nobody waits in any lane. Contiguous runs 19, third 66."
    ]


def test_the_end_of_a_run_that_was_cut_is_no_finish() -> None:
    verdict = "Cut at 20.0 s: paged had finished 212, contiguous had finished 131."
    assert said(scene(run=Run.ENDED, verdict=verdict)) == [verdict, "S shows the summary."]
    served = tuple(counted(frame, unfinished=0) for frame in scene().frames)
    assert "finished in" in said(scene(run=Run.ENDED, frames=served, verdict=verdict))[0]


def test_one_lane_alone() -> None:
    alone = scene(lanes=(lane("paged"),), frames=(counted(paged_frame(), waiting=0),))
    assert said(alone) == ["Paged keeps up: 66 requests run, nobody waits."]
    assert len(said(scene(lanes=(lane("paged"),), frames=(paged_frame(),)))) == 1


PREEMPTION = Situation("preempted", 1, Event(74.0, 1798, EventKind.PREEMPTED, 279, 20, 266))


@pytest.mark.parametrize(
    ("width", "rows", "text"),
    [
        (
            116,
            2,
            "No free block was left: r279 gave back 20 blocks so that r266 can go on."
            " It will be computed again.",
        ),
        (58, 1, "r279 gave back 20 blocks so that r266 can go on."),
    ],
)
def test_a_preemption(width: int, rows: int, text: str) -> None:
    assert [plain(line) for line in caption(scene(), PREEMPTION, Room(width, rows))] == [text]


def test_a_request_that_gives_way_to_itself() -> None:
    own = Situation("preempted", 1, Event(44.5, 557, EventKind.PREEMPTED, 89, 3, 89))
    (line,) = caption(scene(), own, Room(116, 2))
    assert plain(line) == (
        "No free block was left for r89 to go on: it gave back its 3 blocks and waits."
        " It will be computed again."
    )


ALL = ("start", "idle", "turn", "keep up", "full", "no gain", "one done", "end", "nothing ran")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(("width", "rows"), [(116, 2), (78, 2), (58, 1)])
def test_every_situation_fits_everywhere(name: str, width: int, rows: int) -> None:
    done = replace(paged_frame(), done=True, time_s=3599.0)
    shown = scene(frames=(contiguous_frame(), done))
    lines = caption(shown, Situation(name), Room(width, rows))
    assert 1 <= len(lines) <= rows
    assert all(line_width(line) <= width for line in lines)
    assert all("…" not in plain(line) for line in lines)


def easy() -> Scene:
    return scene(
        frames=tuple(
            counted(f, waiting=0, preemptions=0)
            for f in (contiguous_frame(events=()), paged_frame(events=()))
        )
    )


def nobody() -> Scene:
    return scene(frames=tuple(counted(frame, running=0) for frame in easy().frames))


def busy() -> Scene:
    return scene(frames=(contiguous_frame(events=()), paged_frame(events=())))


def test_a_situation_stays_for_a_while() -> None:
    narrator = Narrator()
    assert narrator.tell(busy(), now=0.0).name == "full"
    assert narrator.tell(easy(), now=HOLD_S / 2).name == "full"
    assert narrator.tell(easy(), now=HOLD_S).name == "keep up"
    assert narrator.tell(busy(), now=HOLD_S * 1.1).name == "full", "as somebody waits now"


def test_a_pause_is_told_at_once() -> None:
    narrator = Narrator()
    narrator.tell(easy(), now=0.0)
    assert narrator.tell(replace(busy(), run=Run.PAUSED), now=0.1).name == "full"


def test_the_first_preemption_is_told_once_while_it_runs() -> None:
    narrator = Narrator()
    narrator.tell(busy(), now=0.0)
    assert narrator.tell(scene(), now=0.1) == PREEMPTION
    assert narrator.tell(scene(), now=0.1 + HOLD_S / 2) == PREEMPTION
    assert narrator.tell(scene(), now=0.2 + HOLD_S).name == "full"
    assert narrator.tell(scene(), now=9.0).name == "full"


def test_while_it_stands_on_a_preemption_that_is_told() -> None:
    narrator = Narrator()
    stood = scene(run=Run.PAUSED)
    assert narrator.tell(stood, now=0.0) == PREEMPTION
    gone = replace(paged_frame(), step=1799)
    assert narrator.tell(scene(run=Run.PAUSED, frames=(contiguous_frame(), gone)), now=0.1).name == "full"


def test_split_of_a_lane_decides_what_is_locked() -> None:
    half = counted(contiguous_frame(), split=Split(10, 10, 30, 2, 0, 0, 48))
    assert "locks 1,053 slots" in said(scene(frames=(half, paged_frame())))[0]
