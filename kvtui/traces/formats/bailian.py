"""Qwen-Bailian usage traces: JSON Lines whose block ids name a block alone, and conversations."""

from __future__ import annotations

from kvtui.traces.formats.mooncake import read_hashed
from kvtui.traces.loader import Sample
from kvtui.traces.options import Options
from kvtui.traces.source import Source
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

name = "qwen-bailian"
title = "Qwen-Bailian JSON Lines"

BLOCK = 16  # tokens a block


def matches(sample: Sample) -> bool:
    return not sample.tabular and sample.has("chat_id", "parent_chat_id", "input_length", "output_length")


def read(source: Source, sample: Sample, options: Options) -> Workload:
    return read_hashed(source, sample, options, format=name, unit=S, block=BLOCK)
