"""The figures of a workload, on cases that can be worked out by hand."""

from __future__ import annotations

import json

from kvtui.traces.info import info, render
from tests.traces.conftest import Read

HEADER = "arrival_s,prompt_tokens,output_tokens\n"


def test_figures_by_hand(read: Read) -> None:
    figures = info(read(HEADER + "0,10,1\n1,20,2\n4,30,3\n", name="three.csv"))
    assert json.loads(json.dumps(figures)) == figures
    assert figures["sha256"].isalnum()
    assert figures | {"sha256": "", "assumed": []} == {
        "name": "three",
        "format": "csv",
        "sha256": "",
        "requests": 3,
        "left_out": [],
        "span_s": 4.0,
        "cv": 0.5,  # gaps of 1 and 3 s: deviation 1, mean 2
        "prompt": {"mean": 20.0, "p50": 20.0, "p99": 29.8},
        "output": {"mean": 2.0, "p50": 2.0, "p99": 2.98},
        "tokens_estimated": False,
        "hit_rate_ceiling": None,
        "assumed": [],
    }


def test_what_is_not_known_is_none(read: Read) -> None:
    figures = info(read(HEADER + "5,10,1\n"))
    assert (figures["cv"], figures["span_s"], figures["hit_rate_ceiling"]) == (None, 0.0, None)
    text = render(figures)
    assert "burstiness   n/a" in text
    assert "prefix hits  n/a" in text


def test_text_holds_every_figure_and_note(read: Read) -> None:
    text = render(
        info(
            read(
                '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]}\n'
                '{"timestamp": 3, "input_length": 600, "output_length": 7, "hash_ids": [1, 3]}\n'
                '{"timestamp": 3, "input_length": 600, "output_length": 0, "hash_ids": [1, 4]}\n'
                '{"timestamp": 3}\n',
                name="two.jsonl",
            )
        )
    )
    assert text.splitlines() == [
        "two: 2 requests (mooncake)",
        "",
        "  span         0.003 s",
        "  burstiness   0.000 (CV of the gaps between arrivals)",
        "  prompt       mean 600.0, p50 600.0, p99 600.0 tokens",
        "  output       mean 6.0, p50 6.0, p99 7.0 tokens",
        "  prefix hits  at most 42.67% of prompt tokens",
        "",
        "  1 failed row left out (1 with no output)",
        "  1 row left out: no whole number of tokens in input_length (line 4)",
        "  timestamp counts milliseconds: 0.003 s for 2 requests",
        "  block ids stand for 512 tokens each, as usual in this format",
    ]
