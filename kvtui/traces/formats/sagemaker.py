"""Data capture of SageMaker endpoints: the answer is a text inside each record, with its usage in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, records
from kvtui.traces.source import Source
from kvtui.traces.workload import Workload

name = "sagemaker"
title = "SageMaker data capture"

_CAPTURE = "captureData"


def matches(sample: Sample) -> bool:
    return not sample.tabular and sample.has(_CAPTURE)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    names = Names("inferenceTime", "usage.prompt_tokens", "usage.completion_tokens")
    return gather(source, options, names, _rows(source)).workload(name)


def _rows(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        usage = inside(_answer(record), "usage")
        yield Row(
            line,
            inside(record, "eventMetadata", "inferenceTime"),
            inside(usage, "prompt_tokens"),
            inside(usage, "completion_tokens"),
            why="" if usage is not None else "no token usage in the answer",
        )


def _answer(record: Record) -> Any:
    """The answer of the endpoint, which may be packed as base64; None where it is no JSON."""
    output = inside(record, _CAPTURE, "endpointOutput")
    data = inside(output, "data")
    try:
        text = base64.b64decode(data) if inside(output, "encoding") == "BASE64" else data
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None
