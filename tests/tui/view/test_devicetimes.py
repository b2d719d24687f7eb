"""Seconds on a device: measured, extrapolated and derived, each under its own name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.serving.measured import StepMeans
from kvtui.tui.view.canvas import line_width, plain
from kvtui.tui.view.devicetimes import time_lines
from kvtui.tui.view.layout import plan_for
from tests.tui.frames import lane, scene
from tests.tui.view.test_device import GPU

STEPS = (
    StepMeans("contiguous", 0.0005, 0.004, 0.0123),
    StepMeans("paged", 0.00072, 0.00576, None),
)
STATE = replace(GPU, steps=STEPS, predicted_for="A10G 24 GB")
NOTE = "--steptimes has attention alone: kvtui steptime --fit needs whole steps, --gemm --kv-layers 32"


def panel(width: int = 76, height: int = 9, **changes: object) -> list[str]:
    shown = scene(**{"device": STATE} | changes)
    return [plain(line) for line in time_lines(shown, width=width, height=height, hint="tab: close")]


def test_three_figures_and_what_they_are() -> None:
    rows = [row.split() for row in panel()]
    assert rows[0][:5] == ["A", "step", "takes", "Contiguous", "Paged"]
    assert rows[1] == ["measured,", "4", "of", "32", "0.50", "ms", "0.72", "ms"]
    assert rows[2] == ["all", "layers,", "extrap.", "~4.00", "ms", "~5.76", "ms"]
    assert rows[3] == ["whole", "model,", "derived", "~12.30", "ms", "n/a"]
    assert "as predicted for A10G 24 GB" in " ".join(panel())


def test_a_bar_has_memorys_part_in_one_colour_and_what_is_predicted_in_another() -> None:
    bar = next(row for row in panel() if row.strip().startswith("memory, and all else"))
    assert (
        bar.split("else")[1].strip() == "█" * 5 + "░" * 10
    )  # 4 of 12.3 ms; the other lane has no such figure
    shown = scene(device=STATE)
    lines = time_lines(shown, width=76, height=9, ascii=True)
    assert "#" * 5 + "." * 10 in "".join(map(plain, lines))


def test_a_simulated_lane_has_none_of_them() -> None:
    rows = panel(device=replace(STATE, steps=STEPS[1:]))
    assert [row.count("n/a") for row in rows[1:4]] == [1, 1, 2]
    assert "predicted for" not in "".join(rows)


@pytest.mark.parametrize("size", [(60, 16), (80, 24), (120, 36), (200, 60)])
def test_what_has_to_be_known_of_the_table_is_on_every_screen(size: tuple[int, int]) -> None:
    plan = plan_for(*size, lanes=2, device=True)
    assert plan is not None
    assert plan.cycle[-2:] == ("times", "device")
    rows = panel(plan.slot.width, plan.slot.height, device=replace(STATE, notes=(NOTE,)))
    assert NOTE in " ".join(" ".join(rows).split())


@pytest.mark.parametrize(("width", "height"), [(30, 4), (56, 6), (120, 3)])
@pytest.mark.parametrize("lanes", [1, 2, 4])
def test_any_size_is_filled_exactly(width: int, height: int, lanes: int) -> None:
    names = [lane("paged", name=f"paged-{n}", title=f"Paged-{n}") for n in range(lanes)]
    frames = scene().frames[:1] * lanes
    shown = scene(lanes=tuple(names), frames=frames, device=STATE)
    lines = time_lines(shown, width=width, height=height, hint="tab: close")
    assert len(lines) == height
    assert {line_width(line) for line in lines} <= {width}


def test_nothing_without_a_device() -> None:
    assert not "".join(panel(device=None)).strip()
