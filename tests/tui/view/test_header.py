from __future__ import annotations

from dataclasses import replace

import pytest

from kvtui.comparison.heading import Heading
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.header import header_line
from kvtui.tui.view.ink import PILL
from kvtui.tui.view.scene import Run
from tests.tui.frames import HEADING, scene


def text(width: int, margin: int = 2, **changes: object) -> str:
    return plain(header_line(scene(**changes), width=width, margin=margin))


def test_details_drop_from_the_right() -> None:
    wide = "  kvtui   chat · Llama-3.1-8B bf16 · A10G 24 GB, simulated · KV pool 4.88 GiB"
    assert text(200).startswith(f"{wide} · 2,500 blocks of 16 tokens · seed 7   ")
    assert text(120).startswith(f"{wide}   ")
    assert text(80).startswith("  kvtui   chat · Llama-3.1-8B · A10G sim · KV 4.88 GiB   ")
    assert text(60, 1) == " kvtui   chat · Llama-3.1-8B · A10G sim   ▶ [4.0x]  01:14.0 "


@pytest.mark.parametrize("width", [60, 61, 70, 80, 100, 120, 200])
@pytest.mark.parametrize(
    "name", ["chat", "azure2023_conv_rows0000-1499.csv", "a name with spaces in it.jsonl"]
)
@pytest.mark.parametrize("run", list(Run))
def test_it_always_says_that_the_numbers_are_simulated(width: int, name: str, run: Run) -> None:
    line = text(width, 1, heading=replace(HEADING, trace=name), run=run)
    assert len(line) == width
    assert " sim" in line
    assert line.rstrip().endswith("01:14.0")


def test_a_long_name_is_cut_and_not_the_rest() -> None:
    line = text(60, 1, heading=replace(HEADING, trace="azure2023_conv_rows0000-1499.csv"))
    assert line == " kvtui   azure2023_conv_rows… · A10G sim  ▶ [4.0x]  01:14.0 "


@pytest.mark.parametrize("name", ["chat", "azure2023_conv_rows0000-1499.csv"])
@pytest.mark.parametrize(
    ("width", "told"),
    [
        (80, ("A10G", "4.88 GiB")),
        (100, ("Llama-3.1-8B", "A10G", "4.88 GiB", "$2.50/h")),
        (120, ("Llama-3.1-8B", "A10G", "4.88 GiB", "$2.50/h")),
        (200, ("Llama-3.1-8B bf16", "A10G 24 GB", "4.88 GiB", "2,500 blocks", "$2.50/h", "seed 7")),
    ],
)
def test_pool_and_cost_stand_before_what_is_longer(width: int, told: tuple[str, ...], name: str) -> None:
    line = text(width, 2 if width >= 120 else 1, heading=replace(HEADING, trace=name, usd_per_hour=2.5))
    assert name[:12] in line
    for words in told:
        assert words in line


def test_a_pool_without_hardware() -> None:
    bare = Heading("trace.csv", blocks=625, block_size=16)
    assert "trace.csv · simulated · 625 blocks of 16 tokens" in text(120, heading=bare)


def test_a_pool_on_several_gpus_is_that_of_each() -> None:
    assert "KV pool 4.88 GiB per GPU" in text(200, heading=replace(HEADING, gpus=2))
    assert "KV pool ≤ 4.88 GiB" in text(200, heading=replace(HEADING, pool_at_most=True))
    assert "per GPU" not in text(200)


def test_paused_and_ended_are_pills() -> None:
    for run, word in ((Run.PAUSED, " PAUSED "), (Run.ENDED, " ENDED ")):
        line = header_line(scene(run=run), width=120, margin=2)
        assert (word, PILL) in line
        assert "▶" not in plain(line)
