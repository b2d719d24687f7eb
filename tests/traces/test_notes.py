"""What the data gives away about itself: said where it is so, and only there."""

from __future__ import annotations

import random

import pytest

from kvtui.traces import Workload, load
from tests.traces.conftest import Read

HEADER = "arrival_s,prompt_tokens,output_tokens\n"


def rows(times: list[float], prompts: list[int] | None = None) -> str:
    lengths = prompts or [100 + n for n in range(len(times))]
    return HEADER + "".join(f"{at},{prompt},9\n" for at, prompt in zip(times, lengths, strict=True))


def said(workload: Workload, part: str) -> list[str]:
    return [sentence for sentence in workload.assumed if part in sentence]


def test_a_clock_of_coarse_steps(read: Read) -> None:
    workload = read(rows([3 * (n // 4) for n in range(200)]))
    assert said(workload, "steps") == ["arrivals move in steps of 3 s: their burstiness is that of the clock"]


def test_a_clock_whose_steps_waver(read: Read) -> None:
    workload = read(rows([3 * (n // 4) + 0.001 * (n // 4 % 3 == 1) for n in range(200)]))
    assert said(workload, "steps of 3")


def test_equal_gaps(read: Read) -> None:
    assert said(read(rows(list(range(60)))), "all gaps")
    assert not said(read(rows(list(range(40)))), "all gaps")


def test_a_fine_clock_is_not_mentioned(read: Read) -> None:
    noise = random.Random(1)
    times = sorted(round(noise.random() * 1000 + n * 7, 3) for n in range(200))
    workload = read(rows(times))
    assert not said(workload, "steps")
    assert not said(workload, "all gaps")


def test_seconds_that_are_finer_than_the_gaps(read: Read) -> None:
    times = [0.0]
    for n in range(100):
        times.append(times[-1] + 20 + n % 13)
    assert not said(read(rows(times)), "steps")


def test_long_pauses_are_named_with_their_line(read: Read) -> None:
    (sentence,) = said(read(rows([0, 5, 7205, 7206])), "nothing arrives")
    assert sentence == "nothing arrives for 2.0 hours before line 4 (--max-gap jumps over such pauses)"
    assert not said(read(rows([0, 5, 3605])), "nothing arrives")


@pytest.mark.parametrize(("cut", "expected"), [(600, True), (2000, False)])
def test_prompts_that_were_cut(read: Read, cut: int, expected: bool) -> None:
    prompts = [min(100 + 10 * n, cut) for n in range(100)]
    found = said(read(rows([0.1 * n for n in range(100)], prompts)), "may be cut")
    assert bool(found) == expected


def test_prompts_of_one_length_are_meant_so(read: Read) -> None:
    assert not said(read(rows([0.1 * n for n in range(100)], [1000] * 100)), "may be cut")


def test_progress_reaches_the_end(read: Read, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("progress") / "trace.csv"
    path.write_text(rows([float(n) for n in range(200_000)]))
    seen: list[tuple[int, int]] = []
    load(str(path), progress=lambda done, total: seen.append((done, total)))
    size = path.stat().st_size
    assert seen[-1] == (size, size)
    assert len({done for done, _ in seen}) > 2


def test_a_last_number_without_a_line_end_may_be_cut(read: Read) -> None:
    """The row is kept; packed text, JSON and what ends in a line end or a letter leave no doubt."""
    whole = rows([0, 1, 2])
    cut = read(whole[:-1])
    assert len(cut) == 3
    assert len(said(cut, "no line end")) == 1
    assert not said(read(whole), "no line end")
    assert not said(read(whole[:-1], limit=2), "no line end")
    assert not said(read(HEADER.strip() + ",kind\n0,5,5,a"), "no line end")
    assert not said(
        read('{"timestamp": 0, "input_length": 5, "output_length": 5, "hash_ids": [0]}'), "no line end"
    )
