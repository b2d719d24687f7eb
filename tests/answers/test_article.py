"""The article's experiment against closed forms: both the static count and requests that run together."""

from __future__ import annotations

from itertools import accumulate

import pytest

from kvtui.answers.article import fit_at_once, static_experiment
from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
from kvtui.hardware import catalogue
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.paged import PagedMemoryManager
from kvtui.traces.synthetic import generate, recipe

SLOTS, LONGEST, BLOCK = 10_000, 512, 16
BLOCKS = SLOTS // BLOCK


@pytest.mark.parametrize("seed", range(20))
def test_fits_at_once_at_full_length(seed: int) -> None:
    """Contiguous: slots over maximum. Paged: leading sequences whose whole blocks add up to the pool."""
    workload = generate(recipe("article"), seed=seed)
    lengths = (workload.prompt + workload.output).tolist()
    used = accumulate(-(-n // BLOCK) for n in lengths)
    assert fit_at_once(ContiguousMemoryManager(SLOTS, LONGEST), lengths) == SLOTS // LONGEST
    assert fit_at_once(PagedMemoryManager(SLOTS, BLOCK), lengths) == sum(n <= BLOCKS for n in used)


def test_over_many_seeds() -> None:
    counts = static_experiment(200)
    assert counts["contiguous"] == (19, 19, 19)
    assert counts["paged"].median == 37
    mean = 10 + (512 - 10) / 2
    assert counts["paged"].median == pytest.approx(BLOCKS / ((mean + (BLOCK - 1) / 2) / BLOCK), rel=0.05)


@pytest.mark.parametrize("seed", range(6))
def test_runs_together(seed: int) -> None:
    """All are there at the start and a step takes in everybody whose prompt fits: contiguous runs what it
    has regions for, paged the leading prompts whose blocks add up to the pool."""
    workload = generate(recipe("article"), seed=seed)
    experiment = Experiment(
        workload,
        catalogue.model(DEFAULT_MODEL),
        catalogue.gpu(DEFAULT_GPU),
        slots=4_000,
        max_num_batched_tokens=100_000,
    )
    contiguous, paged = experiment.build(watched=False)
    prompts = accumulate(-(-n // BLOCK) for n in workload.prompt.tolist())
    fits = sum(n <= 4_000 // BLOCK for n in prompts)
    for lane, together in ((contiguous, 4_000 // LONGEST), (paged, fits)):
        lane.step()
        assert lane.engine.meter.peak == together
        lane.run()
        assert lane.engine.results.finished == len(workload)
    assert contiguous.engine.meter.peak == 4_000 // LONGEST
