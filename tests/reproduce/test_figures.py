"""What must come out of reproductions, on short runs and on the figures that cost little."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from kvtui.hardware.catalogue import gpu, model
from kvtui.reproduce import batches, caches, shared, sizes, stalls, swapping, translation
from kvtui.reproduce.entry import Entry
from kvtui.reproduce.paper import BLOCKS, SLOTS, watched
from kvtui.reproduce.rates import latency
from kvtui.reproduce.settings import SHAREGPT_FILE, Settings
from kvtui.timing.roofline import RooflineCost
from kvtui.traces.published import LIMIT, OPENCHAT_LIMIT, alpaca, openchat, pairs_of, poisson, sharegpt
from kvtui.traces.workload import Workload
from tests.cli.run import kvtui
from tests.serving.build import workload
from tests.shared import SHARED, needs_shared

REFERENCE = SHARED / "reference"


def judged(entries: list[Entry]) -> dict[str, bool | None]:
    return {entry.id: entry.passed for entry in entries if entry.passed is not None}


def test_drawn_lengths_have_the_published_moments() -> None:
    prompt, output = sharegpt(50_000, 1)
    assert (prompt + output).max() < LIMIT
    assert prompt.mean() == pytest.approx(159.3, rel=0.02)
    assert output.mean() == pytest.approx(337.7, rel=0.01)
    assert prompt.std() / prompt.mean() == pytest.approx(1.896, rel=0.02)
    assert (output.astype(float) ** 2).mean() / output.mean() == pytest.approx(575.2, rel=0.02)
    assert np.corrcoef(prompt, output)[0, 1] == pytest.approx(0.052, abs=0.02)
    means = [column.mean() for column in alpaca(50_000, 1)]
    assert means == pytest.approx([19.31, 58.45], rel=0.03)


def test_chats_have_the_lengths_that_their_paper_prints() -> None:
    prompt, output = openchat(50_000, 1)
    assert (prompt + output).max() < OPENCHAT_LIMIT
    printed = (1730, 5696, 2088, 415, 834)  # its Table 2: medians, 90th percentiles, deviation
    ours = (*np.quantile(prompt, (0.5, 0.9)), prompt.std(), *np.quantile(output, (0.5, 0.9)))
    assert ours == pytest.approx(printed, rel=0.02)
    assert np.corrcoef(prompt, output)[0, 1] == pytest.approx(0.041, abs=0.02)


def test_arrivals_come_at_the_rate_asked_for() -> None:
    load = poisson("a", alpaca, rate=5, seconds=2000, seed=3)
    assert len(load) == pytest.approx(10_000, rel=0.03)
    assert load.span_s < 2000


@pytest.mark.parametrize("system", ["max", "pow2", "oracle"])
def test_waste_adds_up_and_orca_holds_whole_regions(system: str) -> None:
    load = poisson(system, sharegpt, rate=4, seconds=120, seed=0)
    found = watched(system, load, start_s=30, until_s=120).result()
    assert sum(found[:4]) == pytest.approx(100)
    if system == "max":
        assert found.batch == pytest.approx(BLOCKS // 128, abs=0.01)
        assert found.external == pytest.approx(100 * (1 - 7 * LIMIT / SLOTS), abs=0.05)
    if system == "oracle":
        assert found.internal == 0


def test_paging_keeps_nearly_all_memory_for_tokens() -> None:
    load = poisson("vllm", sharegpt, rate=4, seconds=120, seed=0)
    found = watched("vllm", load, start_s=60, until_s=120).result()
    assert found.tokens > 95


def test_cheap_figures_pass() -> None:
    for figure in (sizes.table1, sizes.fp8, sizes.mla, sizes.page_groups, batches.forms, caches.radix):
        passed = judged(figure(Settings()))
        assert passed, figure.__name__
        assert all(passed.values()), passed


def test_depth_first_keeps_what_first_come_loses() -> None:
    shares = {entry.id: entry.ours or 0.0 for entry in caches.radix(Settings())}
    assert shares["radixattention.share_of_optimum.documents"] > 0.9
    assert 0 < shares["radixattention.first_come.documents"] < 0.7


def test_depth_first_puts_prefixes_behind_each_other() -> None:
    chains = ((1, 2), (9,), (1, 3), (1, 2, 4), (9, 8), (1,))
    sizes_ = [len(chain) for chain in chains]
    load = Workload(
        "w",
        "test",
        np.arange(6, dtype=np.int64),
        np.array([4 * n + 1 for n in sizes_]),
        np.ones(6, np.int64),
        np.arange(6),
        unit=4,
        chain=np.concatenate([np.array(chain) for chain in chains]),
        chain_start=np.cumsum([0, *sizes_]),
        identified=np.array([4 * n for n in sizes_]),
    )
    batch = caches.depth_first(load)
    assert batch.line.tolist() == [5, 0, 3, 2, 1, 4]
    assert not batch.arrival_ns.any()
    # The second, third and fourth find the first block; the third one more; the last its one.
    assert caches.asked_before(batch, 4) == 4 * (1 + 2 + 1 + 1)


def test_capacity_in_chunks_is_above_that_of_whole_prompts() -> None:
    cost = RooflineCost.of(model("mistral-7b"), gpu("a100-80"))
    whole, chunks = (
        stalls.capacity(openchat, cost, 0.1, chunked=chunked, seed=0) for chunked in (False, True)
    )
    assert chunks > 2 * whole


def test_a_prefix_kept_once_serves_more_and_the_longer_the_more() -> None:
    one, five = (entry.ours or 0.0 for entry in translation.fig16(Settings()))
    assert five > one > 1


def test_swapping_small_blocks_is_dear_and_large_ones_cheaper_than_computing() -> None:
    times = [swapping.swap_s(size) for size in swapping.SIZES]
    assert times == sorted(times, reverse=True)
    assert times[0] > 5 * swapping.recompute_s() > 5 * times[-1]


def test_beams_share_more_than_samples_and_more_of_them_more() -> None:
    saved = [
        shared.saved(alpaca, kind=kind, width=width, rate=10, seconds=9)
        for kind, width in (("samples", 2), ("samples", 4), ("beams", 2), ("beams", 4))
    ]
    assert saved == sorted(saved)


def test_a_faster_system_has_the_lower_latency() -> None:
    load = poisson("a", sharegpt, rate=1.2, seconds=200, seed=0)
    waits = [latency(system, load) for system in ("static", "max", "oracle", "vllm")]
    assert waits == sorted(waits, reverse=True)


def test_without_its_files_a_figure_says_what_it_needs() -> None:
    entries = caches.mooncake(Settings())
    assert all(entry.ours is None and entry.passed is None for entry in entries)
    assert any("--data" in entry.note for entry in entries)


def test_the_last_half_of_a_trace_is_counted_in_tokens() -> None:
    """Prompts of 520 tokens whose first block of 512 was there before: half of the blocks."""
    plain = workload([(at, 520, 1) for at in range(4)])
    chain = np.array([0, 1, 0, 2, 0, 3, 0, 4], np.int64)
    made = replace(plain, unit=512, chain=chain, chain_start=np.arange(0, 9, 2))
    last = caches.last_half(made)[-1]
    assert last.id == "unlimited"
    assert last.ours == pytest.approx(100 * 512 / 520)


def test_hit_rates_of_the_public_traces_are_those_of_others() -> None:
    """With the whole files: 17 values within 0.1 percentage points, and what the paper prints."""
    folder = SHARED / "traces"
    if not (folder / "conversation_trace.jsonl").exists():
        pytest.skip("needs the whole traces of kvcache-ai/Mooncake, of which only the first rows are here")
    found = judged(caches.mooncake(Settings(folder)))
    assert {"mooncake.conversation.4096", "mooncake.conversation.last_half.8192"} <= found.keys()
    assert all(found.values())


def test_the_command_prints_a_list_of_figures() -> None:
    answer = kvtui("reproduce", "table1", "--json")
    entries = json.loads(answer.stdout)
    assert [entry["id"].rpartition(".")[2] for entry in entries] == ["opt-13b", "opt-66b", "opt-175b"]
    assert all(entry["pass"] for entry in entries)
    assert kvtui("reproduce", "fig99").returncode == 2


@needs_shared
def test_real_lengths_are_taken_in_file_order_and_shuffled() -> None:
    lengths = pairs_of(REFERENCE / SHAREGPT_FILE)
    prompt, output = lengths(500, 0)
    again, _ = lengths(500, 1)
    assert sorted(prompt.tolist()) == sorted(again.tolist())
    assert (prompt + output).max() < LIMIT


@needs_shared
@pytest.mark.parametrize("system", ["pow2", "oracle"])
def test_the_paper_s_waste_comes_out_of_real_lengths(system: str) -> None:
    lengths = pairs_of(REFERENCE / SHAREGPT_FILE)
    paper, allowed = batches._FIG2[system]
    found = batches.means(system, lengths, rate=4, start_s=300, until_s=900, seeds=batches.SEEDS)
    for ours, value, most in zip(found, paper, allowed, strict=False):
        assert ours == pytest.approx(value, abs=most)
