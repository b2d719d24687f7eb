"""Azure LLM inference traces of 2023 and 2024, and the multimodal one: CSV with dates."""

from __future__ import annotations

import numpy as np

from kvtui.traces.draft import Draft
from kvtui.traces.fields import numbers
from kvtui.traces.leftout import rows
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.workload import Workload

name = "azure"
title = "Azure LLM inference CSV"

_TIME, _PROMPT, _OUTPUT, _IMAGES = "TIMESTAMP", "ContextTokens", "GeneratedTokens", "NumImages"


def matches(sample: Sample) -> bool:
    return sample.tabular and sample.has(_TIME, _PROMPT, _OUTPUT)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    table = Table(source)
    multimodal = _IMAGES in table.columns
    draft = Draft(source, options, Names(_TIME, _PROMPT, _OUTPUT))
    pictured = 0
    for piece in table.pieces():
        fields = piece.fields
        kept = draft.add(piece.line, time=fields[_TIME], prompt=fields[_PROMPT], output=fields[_OUTPUT])
        if multimodal:
            pictured += int(np.count_nonzero(numbers(fields[_IMAGES].take(kept)).whole))
        if draft.full:
            break
    columns = draft.finish()
    if multimodal:
        said = f"{rows(pictured, 'request')} with images: images are not modelled, their tokens not added"
        return columns.workload("azure-multimodal", assumed=[said])
    return columns.workload("azure-2024" if draft.zoned else "azure-2023")
