from __future__ import annotations

from kvtui.tui.view.canvas import plain
from kvtui.tui.view.figures import figure_lines
from kvtui.tui.view.ink import WARN
from tests.tui.frames import empty_frame, scene


def test_two_groups_side_by_side() -> None:
    lines = figure_lines(scene(), width=60, height=6)
    assert [plain(line).rstrip() for line in lines] == [
        "  Figures     contig   paged               contig   paged",
        "  running         19      66   tokens/s       685   1,209",
        "  waiting        143      15   TTFT p50    18.0 s   0.1 s",
        "  preempted        0       8   TTFT p99    34.3 s   0.2 s",
        "  finished       131     212   TPOT p50     27 ms   44 ms",
        "  rejected         0       0   TPOT p99     31 ms   52 ms",
    ]
    assert ("8", WARN) in lines[3]


def test_one_under_the_other_in_a_narrow_panel() -> None:
    lines = [plain(line).rstrip() for line in figure_lines(scene(), width=40, height=12, margin=1)]
    assert lines[1] == " running         19      66"
    assert lines[7] == " tokens/s       685   1,209"


def test_what_is_not_known_is_not_nought() -> None:
    lines = [
        plain(line) for line in figure_lines(scene(frames=(empty_frame(), empty_frame())), width=60, height=6)
    ]
    assert lines[2].split()[-2:] == ["n/a", "n/a"]
