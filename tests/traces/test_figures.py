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
    "kvcachetester_trace_0504.json": (
        "3 3,075.000 0.992 11,246.3 11,300.0 11,305.9 112.3 102.0 138.3 0.6506",
        {},
    ),
    "kvcachetester_trace_0291.json": (
        "32 1,363.000 2.287 70,441.2 79,332.0 100,897.2 609.5 269.0 2,929.0 0.8973",
        {},
    ),
    "otel_inferenceperf_prefix_sharing_example.json": (
        "7 12.000 0.000 152.1 100.0 373.4 40.0 50.0 69.4 -",
        {},
    ),
    "aiperf_profile_export.jsonl": (
        "30 2.243 2.911 220.9 130.5 1,175.0 5.7 6.0 12.0 -",
        {},
    ),
    "synthetic/vllm_bench_serve_detailed.json with the failed request": (
        "24 5.728 0.874 2,036.6 1,877.5 3,927.6 167.1 179.5 284.1 -",
        {"keep_failed": True},
    ),
    "synthetic/sglang_bench_serving_details.jsonl": (
        "10 - - 1,375.6 1,480.5 1,927.4 130.2 127.5 240.8 -",
        {},
    ),
    "synthetic/sglang_bench_serving_details.jsonl second run": (
        "6 - - 1,216.2 1,384.0 1,696.0 110.3 104.5 238.6 -",
        {"run": 2},
    ),
    "synthetic/otlp_vllm_llm_request.json": (
        "16 8.782 1.512 1,461.0 1,479.0 2,873.0 106.8 103.0 194.7 -",
        {},
    ),
    "synthetic/litellm_spend_logs.json with what the gateway's cache answered": (
        "18 43.865 1.506 2,528.0 2,128.5 4,783.9 171.3 173.0 384.6 -",
        {"keep_cached": True},
    ),
    "synthetic/openai_batch_output.jsonl": (
        "12 25.000 0.196 1,274.7 1,075.5 2,386.8 148.9 146.5 287.9 -",
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
        known(figures["span_s"], ",.3f"),
        known(figures["cv"], ".3f"),
        *(f"{value:,.1f}" for value in tokens),
        known(hits, ".4f"),
    ]
    assert " ".join(printed) == expected


def known(figure: float | None, form: str) -> str:
    return "-" if figure is None else format(figure, form)


def test_words_of_conversations_are_counted(sample: Callable[[str], str]) -> None:
    figures = info(load(sample("sharegpt_structure.json")))
    tokens = [*figures["prompt"].values(), *figures["output"].values()]
    assert [figures["requests"], *(f"{value:,.1f}" for value in tokens)] == [
        36,
        "676.2",
        "557.5",
        "1,681.1",
        "679.4",
        "720.5",
        "775.6",
    ]
    assert (figures["span_s"], figures["cv"], figures["tokens_estimated"]) == (None, None, True)


def test_batch_input_has_requests_and_estimates(sample: Callable[[str], str]) -> None:
    figures = info(load(sample("openai_batch_input_aibrix.jsonl")))
    assert (figures["requests"], figures["span_s"], figures["tokens_estimated"]) == (10, None, True)
