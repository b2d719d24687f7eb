"""The panel of the device says what is known, and "–" for what is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.backends.nvml import REASONS
from kvtui.comparison.heading import Heading
from kvtui.serving.measured import DeviceState
from kvtui.tui.view.canvas import line_width, plain
from kvtui.tui.view.device import device_lines
from kvtui.tui.view.helppage import help_lines
from kvtui.tui.view.ink import BAD
from kvtui.tui.view.layout import plan_for
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scale import Scale
from kvtui.tui.view.scene import Scene
from tests.tui.frames import scene as scene_of_lanes

GIB = 1 << 30
GPU = DeviceState(
    label="NVIDIA H100",
    attention="varlen_attn",
    layers=(4, 32),
    checked=1234,
    failed=0,
    verified=True,
    pool_bytes=10 * GIB,
    reserved_bytes=2 * GIB,
    other_bytes=18 * GIB,
    free_bytes=50 * GIB,
    busy_pct=97,
    power_w=312.5,
    energy_j_per_token=0.123,
    temperature_c=61,
    clock_mhz=1980,
    held_back=("power limit",),
)
CPU = DeviceState("CPU", "gather + SDPA", (1, 32), 0, 0, False, 64 << 20, free_bytes=20 * GIB)


def panel(state: DeviceState | None, *, width: int = 76, height: int = 9, ascii: bool = False) -> list[str]:
    scene = Scene(Heading("x"), (), (), device=state)
    return [plain(line) for line in device_lines(scene, width=width, height=height, ascii=ascii)]


def test_everything_a_gpu_says() -> None:
    text = "\n".join(panel(GPU))
    for words in ("NVIDIA H100, varlen_attn, 4 of 32 layers", "1,234, 0 wrong", "10 GiB", "18 GiB", "97 %"):
        assert words in text
    for words in ("312 W", "0.123", "61 °C", "1,980 MHz", "held back           power"):
        assert words in text


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (("power limit",), "power"),
        (("power limit", "temperature (hardware)", "temperature (driver)"), "power+heat"),
        (tuple(REASONS.values()), "power+slowed+s…"),
        ((), "no"),
    ],
)
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
def test_why_it_is_slow_is_on_every_screen(
    size: tuple[int, int], reasons: tuple[str, ...], words: str
) -> None:
    """In the rows that the panel has there, beside its label."""
    plan = plan_for(*size, lanes=2, device=True)
    assert plan is not None
    rows = panel(replace(GPU, held_back=reasons), width=plan.slot.width, height=plan.slot.height)
    held = next(row for row in rows if "held back" in row)
    assert held.rstrip().endswith(words)
    said = held[held.index("held back") :].rstrip()
    assert len(said) == 25
    assert said[9] == " "


def test_a_dash_for_what_nobody_says() -> None:
    rows = panel(CPU)
    assert "CPU, gather + SDPA, 1 of 32 layers" in rows[0]
    assert sum(row.count("–") for row in rows) == 9
    assert "–" not in "".join(panel(CPU, ascii=True))


def test_on_a_cpu_it_is_the_process_that_takes_memory() -> None:
    rows = panel(replace(CPU, process_bytes=3 * GIB))
    assert next(row for row in rows if "process, peak" in row).split()[:4] == [
        "process,",
        "peak",
        "3",
        "GiB",
    ]
    assert not any("torch, beyond" in row for row in rows)


def test_a_driver_that_has_gone_is_said_to_be_gone() -> None:
    for width in (60, 80):
        assert (
            "NVIDIA H100: its driver answers no more" in panel(replace(GPU, driver_lost=True), width=width)[0]
        )
    assert "no more" not in panel(GPU)[0]


def test_parts_of_the_bar_are_as_long_as_they_are_large() -> None:
    bar = panel(GPU)[1].strip()
    assert (bar.count("█"), bar.count("▓"), bar.count("▒"), bar.count("░")) == (7, 1, 13, 35)


def test_a_wrong_read_stands_out() -> None:
    scene = Scene(Heading("x"), (), (), device=replace(GPU, failed=2))
    inks = {text: ink for line in device_lines(scene, width=76, height=9) for text, ink in line}
    assert next(ink for text, ink in inks.items() if "2 wrong" in text) == BAD


@pytest.mark.parametrize(("width", "height"), [(30, 4), (56, 6), (60, 12), (120, 3)])
def test_any_size_is_filled_exactly(width: int, height: int) -> None:
    scene = Scene(Heading("x"), (), (), device=GPU)
    lines = device_lines(scene, width=width, height=height, hint="tab: close")
    assert len(lines) == height
    assert {line_width(line) for line in lines} <= {width}


def test_nothing_without_a_device() -> None:
    assert not "".join(panel(None)).strip()


def test_help_says_why_the_drivers_figures_stand_still() -> None:
    for state in (GPU, None):
        lines = help_lines(scene_of_lanes(device=state), Scale(32, 20, 64), Look(), width=120)
        assert ("nvidia-smi" in "".join(map(plain, lines))) == (state is not None)
