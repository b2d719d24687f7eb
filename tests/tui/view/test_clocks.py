"""Lanes by different clocks stand side by side, and nothing on the screen sets them against each other."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.tui.view.canvas import plain
from kvtui.tui.view.captions import Room, caption
from kvtui.tui.view.card import draw_card
from kvtui.tui.view.layout import Form
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Run, Scene
from kvtui.tui.view.situation import situation
from kvtui.tui.view.summary import summary_lines
from tests.tui.frames import contiguous_frame, lane, paged_frame, scene

VERDICT = "Simulated and measured lanes keep different clocks, and are not compared."


def by_clocks(*labels: str, **changes: object) -> Scene:
    """A contiguous lane, and paged ones."""
    managers = ("contiguous", *["paged"] * (len(labels) - 1))
    infos = tuple(replace(lane(m), label=label) for m, label in zip(managers, labels, strict=True))
    frames = (contiguous_frame(), *[paged_frame()] * (len(labels) - 1))
    return scene(**{"lanes": infos, "frames": frames} | changes)


def ended(*labels: str) -> Scene:
    shown = by_clocks(*labels, run=Run.ENDED, verdict=VERDICT)
    served = {"unfinished": 0, "rejected": 0}
    times = (193.0, 115.1, 115.1)
    frames = tuple(
        replace(frame, counters=frame.counters._replace(**served), done=True, time_s=time_s)
        for frame, time_s in zip(shown.frames, times, strict=False)
    )
    return replace(shown, frames=frames)


def card(shown: Scene, at: int, form: Form = Form.MEDIUM) -> str:
    return "\n".join(map(plain, draw_card(shown, at, form, Look()).lines()))


def page(shown: Scene) -> str:
    return "\n".join(map(plain, summary_lines(shown, Look(), width=120)))


def told(shown: Scene) -> str:
    return " ".join(map(plain, caption(shown, situation(shown), Room(116, 2))))


@pytest.mark.parametrize("form", list(Form))
def test_a_lane_by_another_clock_says_so_in_place_of_a_ratio(form: Form) -> None:
    shown = by_clocks("simulated", "measured")
    assert "3.5x" not in card(shown, 1, form)
    assert "own clock" in card(shown, 1, form)
    assert "own clock" not in card(shown, 0, form)


@pytest.mark.parametrize("label", ["simulated", "measured"])
def test_lanes_by_one_clock_are_compared(label: str) -> None:
    shown = by_clocks(label, label)
    assert "3.5x" in card(shown, 1)
    assert "own clock" not in card(shown, 1)
    assert "2.9x" in page(ended(label, label))
    assert "Clocks" not in page(ended(label, label))
    assert "times as fast" in told(ended(label, label))


def test_a_second_measured_lane_is_set_against_the_first_one() -> None:
    shown = by_clocks("simulated", "measured", "measured")
    assert "1.0x" in card(shown, 2)
    assert "own clock" in card(shown, 1)


def test_the_summary_and_the_last_sentence_compare_nothing_across_clocks() -> None:
    shown = ended("simulated", "measured")
    words = page(shown)
    assert "2.9x" not in words
    assert "paged is" not in words.lower()
    assert "Clocks" in words
    assert "not compared" in words
    assert VERDICT in told(shown)
