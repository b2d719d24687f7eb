"""What published benchmarks asked for and how their servers batched, where a table leaves it out.

Columns win: `range_ratio` (shortest length, of the longest) and `max_num_batched_tokens`. Else rows of
aiconfigurator's silicon_sample.csv are known by their id, in `source` or `notes`:

* InferenceMAX, whose ids begin with a date or end in a number of its configurations: lengths from 0.8 to 1
  (--random-range-ratio 0.8).
* Its makers' own: equal lengths, on servers that their generator of commands set up. A step has room for one
  prompt beside the decodes; SGLang joined the generator with 0.5.6, and before ran with its own defaults.
"""

from __future__ import annotations

import re
from typing import Protocol

from kvtui.hardware.catalogue import GpuSpec
from kvtui.hardware.sizing import batch_limits
from kvtui.timing.benchmark import Batching

_INFERENCEMAX = re.compile(r"\b20\d\d_\d\d_\d\d_\w+_agg_|_cfg\d+\b")
_GENERATED = re.compile(r"_(vllm|trtllm|sglang)_agg_\d+x\d+_c\d+_tp\d+_epnone_\d+\b")
_SHORTEST = 0.8
_SPARE = 1500  # tokens that the generator adds to a step of one prompt and all decodes
_STEP = 8192  # TensorRT-LLM's max_num_tokens, SGLang's chunked_prefill_size


class Cells(Protocol):
    """A row of a table."""

    def text(self, key: str) -> str:
        """A cell, "" where there is none."""
        ...

    def count(self, key: str, default: int | None = None) -> int:
        """A cell as a whole number."""
        ...


def shortest_length(row: Cells) -> float:
    """Of the longest; lengths are drawn evenly between."""
    try:
        told = float(row.text("range_ratio"))
    except ValueError:
        return _SHORTEST if _INFERENCEMAX.search(_origin(row)) else 1.0
    return min(max(told, 0.0), 1.0)


def batching(row: Cells, software: str, gpu: GpuSpec) -> Batching:
    """How steps were formed: by what the row says, or by the defaults of the server.

    vLLM parts prompts and computes them beside decodes. TensorRT-LLM does not part them. SGLang computes
    prompts first, unless it was told to mix.
    """
    generated = bool(_GENERATED.search(_origin(row)))
    beside = True
    step = batch_limits(gpu).tokens if software == "vllm" else _STEP
    if software == "sglang":
        version = re.search(r"(\d+)\.(\d+)\.(\d+)", row.text("engine"))
        generated = beside = generated and version is not None and (*map(int, version.groups()),) >= (0, 5, 6)
    if generated:
        step = row.count("context_len") + row.count("batch_size") + _SPARE
    step = row.count("max_num_batched_tokens", 0) or step
    return Batching(step, parted=software != "trtllm", beside=beside)


def _origin(row: Cells) -> str:
    return f"{row.text('source')} {row.text('notes')}"
