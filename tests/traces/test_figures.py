"""The published figures of the sample traces, to every digit that is printed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvtui.traces import load
from kvtui.traces.info import info

# requests, span s, CV, prompt mean p50 p99, output mean p50 p99, hit rate
FIGURES = {
    "azure2023_conv_rows0000-1499.csv": (
        "1,500 309.528 1.187 1,067.3 1,017.0 4,100.0 257.2 217.0 602.1 -",
        {},
    ),
    "burstgpt1_rows000-199.csv": (
        "191 33,779.000 3.413 621.9 447.0 1,880.0 305.2 263.0 1,437.3 -",
        {},
    ),
    "burstgpt1_rows000-199.csv with failed rows": (
        "200 33,779.000 3.495 594.0 412.5 1,877.3 291.4 249.0 1,415.4 -",
        {"keep_failed": True},
    ),
    "mooncake_conversation_rows0000-0999.jsonl": (
        "1,000 330.000 2.843 13,732.9 8,430.0 88,274.1 349.4 365.0 1,005.1 0.2157",
        {},
    ),
    "aiperf_production_trace_template.jsonl": (
        "10 1.500 0.613 768.0 512.0 2,001.9 185.6 128.0 494.7 -",
        {},
    ),
    "vidur_splitwise_code_rows0000-1499.csv": (
        "1,500 604.198 11.892 2,075.6 1,409.0 7,436.0 27.3 13.0 252.0 -",
        {},
    ),
    "multiround_qa_naive_output_2.9.csv": (
        "322 99.716 0.343 21,073.0 21,073.0 21,073.0 100.0 100.0 100.0 -",
        {},
    ),
    "synthetic/qwen_bailian_blksz_16.jsonl": (
        "120 43.510 1.058 1,636.3 1,644.5 3,537.3 330.1 359.0 596.0 0.4721",
        {},
    ),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_the_published_ones(name: str, sample: Callable[[str], str]) -> None:
    expected, options = FIGURES[name]
    figures = info(load(sample(name.split(" ")[0]), **options))
    hits = figures["hit_rate_ceiling"]
    tokens = [*figures["prompt"].values(), *figures["output"].values()]
    printed = [
        f"{figures['requests']:,}",
        f"{figures['span_s']:,.3f}",
        f"{figures['cv']:.3f}",
        *(f"{value:,.1f}" for value in tokens),
        "-" if hits is None else f"{hits:.4f}",
    ]
    assert " ".join(printed) == expected
