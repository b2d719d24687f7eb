"""Help and summary as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.frames.frame import Frame
from kvtui.tui.view.canvas import line_width, plain
from kvtui.tui.view.helppage import help_lines
from kvtui.tui.view.ink import WARN
from kvtui.tui.view.keys import keys_for
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scale import Scale
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.summary import summary_lines
from kvtui.tui.view.timeline import MARKS
from tests.tui.frames import contiguous_frame, counters, empty_frame, lane, paged_frame, scene

LOOK = Look()
SCALE = Scale(32, 20, 64)
VERDICT = (
    "paged runs 53.4 against 18.3 requests at once on average (2.9x), and is done in 115.1 s against 193.0 s"
    " (1.8x the tokens/s)."
)


def ended(**changes: object) -> Scene:
    frames = (
        replace(contiguous_frame(), time_s=193.0, done=True),
        replace(paged_frame(), time_s=115.1, done=True),
    )
    return scene(**({"frames": frames, "run": Run.ENDED, "time_s": 193.0, "verdict": VERDICT} | changes))


def four(lanes: int = 4, **changes: object) -> Scene:
    """Up to four lanes, all ended."""
    names = ("contig-max", "contig-pow2", "paged-16", "paged-32")
    infos = tuple(
        lane("contiguous" if at < 2 else "paged", name=n, title=n.capitalize()) for at, n in enumerate(names)
    )
    frames = tuple(replace(ended().frames[at // 2], step=at) for at in range(4))
    return ended(**({"lanes": infos[:lanes], "frames": frames[:lanes]} | changes))


def text(lines: tuple) -> list[str]:
    return [plain(line).rstrip() for line in lines]


def test_help_names_every_key_of_the_table() -> None:
    page = text(help_lines(scene(), SCALE, LOOK, width=120))
    for key in keys_for(2):
        assert any(key.written in line and key.help in line for line in page), key
    assert not any("third lane" in line for line in page)


@pytest.mark.parametrize("width", [80, 120])
def test_help_explains_every_mark_of_the_timeline(width: int) -> None:
    page = text(help_lines(scene(), SCALE, LOOK, width=width))
    shown = [line for line in page if any(mark in line for mark, _ in MARKS.values())]
    for mark, _ in MARKS.values():
        assert any(mark in line for line in shown), mark
    for words in ("a queue starts", "evicted", "copy-on-write", "preempted", "swapped out", "rejected"):
        assert any(words in line for line in shown), words


@pytest.mark.parametrize("lanes", [3, 4])
def test_help_has_a_key_for_every_lane(lanes: int) -> None:
    page = text(help_lines(four(lanes), SCALE, LOOK, width=120))
    for number, word in enumerate(("first", "second", "third", "fourth"), start=1):
        shown = any(line.split()[:1] == [str(number)] and f"{word} lane" in line for line in page)
        assert shown is (number <= lanes)


@pytest.mark.parametrize("width", [60, 80, 111, 112, 120, 200])
def test_pages_are_as_wide_as_the_terminal_and_cut_nothing(width: int) -> None:
    for page in (help_lines(scene(), SCALE, LOOK, width=width), summary_lines(ended(), LOOK, width=width)):
        assert {line_width(line) for line in page} == {width}
    words = " ".join(text(help_lines(scene(), SCALE, LOOK, width=width)))
    for end in ("is needed", "(copy-on-write)", "as an SVG picture", "to the next"):
        assert end in words


def test_the_summary() -> None:
    page = text(summary_lines(ended(), LOOK, width=120))
    body = [line.strip() for line in page if line.strip()]
    assert body[0] == "Summary  340 requests, seed 7, the same 4.88 GiB of KV memory in each lane, simulated"
    assert " ".join(body[1:3]) == VERDICT
    assert body[3].startswith("It held more requests at once")
    table = {line[14:45].strip(): line[45:].split("  ") for line in page if len(line) > 60}
    cells = {label: [cell.strip() for cell in row if cell.strip()] for label, row in table.items()}
    assert cells["tokens/s"] == ["685", "1,209", "1.8x higher"]
    assert cells["peak batch"] == ["19", "86", "4.5x larger"]
    assert cells["TTFT, p50 / p99"] == ["18.0 / 34.3 s", "0.1 / 0.2 s", "17.9 s sooner"]
    assert cells["TPOT, mean"] == ["27 ms", "44 ms", "1.6x slower"]
    assert cells["preempted"] == ["0", "8"]
    assert cells["ended at"] == ["03:13.0", "01:55.1"]
    assert any("then each holds 19 requests at once" in line for line in page)


def test_what_got_worse_is_amber() -> None:
    amber = [run for line in summary_lines(ended(), LOOK, width=120) for run, ink in line if ink == WARN]
    assert amber == ["1.6x slower"]


def test_a_summary_in_the_middle_of_a_run_does_not_claim_an_end() -> None:
    page = " ".join(text(summary_lines(scene(), LOOK, width=120)))
    assert "So far, at 01:14.0: the run stands still while this page is open." in page
    assert "In GPUs" not in page


def test_times_of_unequal_numbers_of_requests_are_not_compared_before_the_end() -> None:
    page = text(summary_lines(scene(), LOOK, width=120))
    (first,) = [line for line in page if "TTFT, p50 / p99" in line]
    assert "sooner" not in first
    assert "later" not in first
    (counts,) = [line for line in page if "of so many requests" in line]
    assert counts.split()[-4:] == ["without", "those", "that", "wait"]


def test_no_difference_is_said_to_be_none() -> None:
    level = tuple(
        replace(frame, time_s=100.0, done=True, counters=contiguous_frame().counters)
        for frame in (contiguous_frame(), paged_frame())
    )
    page = " ".join(text(summary_lines(ended(frames=level), LOOK, width=120)))
    assert page.count("the same") >= 4
    assert "In GPUs" not in page


def test_unknown_figures_are_not_nought() -> None:
    nothing: Frame = replace(empty_frame(), done=True, counters=counters(rejected=340))
    page = " ".join(text(summary_lines(ended(frames=(nothing, nothing)), LOOK, width=120)))
    assert "n/a / n/a" in page
    assert "rejected" in page


def test_one_lane_alone_is_summed_up_without_comparison() -> None:
    alone = ended(lanes=(lane("paged"),), frames=(ended().frames[1],))
    page = " ".join(text(summary_lines(alone, LOOK, width=80)))
    assert "01:55.1" in page
    assert "paged is" not in page


@pytest.mark.parametrize("lanes", [2, 3, 4])
@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_the_summary_shows_every_lane_and_cuts_no_word(lanes: int, width: int) -> None:
    shown = four(lanes)
    page = text(summary_lines(shown, LOOK, width=width))
    words = " ".join(" ".join(page).split())
    for info in shown.lanes:
        assert f"{info.title} mean batch" in words
        assert sum(info.title in line for line in page) >= 2, "over its digits and over its figures"
    assert VERDICT in words
    assert "in each lane, simulated" in words
    assert ("then each holds 19 requests at once." in words) is (lanes > 2), (
        "where paging is compared with regions"
    )
    assert all(len(line) <= width - 2 for line in page)


def test_gpus_are_counted_only_where_everybody_was_served() -> None:
    assert "In GPUs" not in " ".join(text(summary_lines(ended(), LOOK, width=120)))
    served = tuple(replace(f, counters=f.counters._replace(unfinished=0)) for f in ended().frames)
    page = " ".join(text(summary_lines(ended(frames=served), LOOK, width=120)))
    assert "In GPUs     contiguous needs 2" in page
