"""Per-request reports of load generators: inference-perf, guidellm."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvtui.traces.gather import Row, gather
from kvtui.traces.leftout import rows as counted
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, records
from kvtui.traces.source import Source
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

name = "reports"
title = "reports with requests of inference-perf or guidellm"

_ERROR = "the benchmark recorded an error"
_STARTS = (
    ("request_start_time",),
    ("start_time",),
    ("info", "timings", "request_start"),
    ("scheduler_info", "request_timings", "request_start"),
)
_PROMPTS = (
    ("prompt_tokens",),
    ("input_metrics", "total_tokens"),
    ("input_metrics", "text_tokens"),
    ("request_metrics", "prompt_tokens"),
)
_OUTPUTS = (
    ("output_tokens",),
    ("output_metrics", "total_tokens"),
    ("output_metrics", "text_tokens"),
    ("response_metrics", "output_tokens"),
)


def matches(sample: Sample) -> bool:
    return not sample.tabular and (_is_lifecycle(sample) or _is_guidellm(sample))


def _is_lifecycle(sample: Sample) -> bool:
    found = [inside(record, "info") for record in sample.records]
    return sample.has("start_time", "info") and any(
        isinstance(info, dict) and {"input_tokens", "response_metrics", "output_tokens"} & info.keys()
        for info in found
    )


def _is_guidellm(sample: Sample) -> bool:
    return any(_benchmarks(record) for record in sample.records)


def _benchmarks(record: Record) -> list[Any]:
    """The benchmarks of a guidellm report that still have their requests."""
    found = record.get("benchmarks")
    return [one for one in found if any(_lists(one).values())] if isinstance(found, list) else []


def _lists(benchmark: object) -> dict[str, list[Any]]:
    kinds = ("successful", "errored", "incomplete")
    lists = {kind: inside(benchmark, "requests", kind) for kind in kinds}
    return {kind: found for kind, found in lists.items() if isinstance(found, list)}


def read(source: Source, sample: Sample, options: Options) -> Workload:
    if _is_lifecycle(sample):
        names = Names("start_time", "input_tokens", "output_tokens")
        return gather(source, options, names, _lifecycle(source), unit=S).workload("inference-perf")
    found = [(line, one) for line, record in records(source) for one in _benchmarks(record or {})]
    number = options.run or 1
    if number > len(found):
        hint = f"give --run 1 to {len(found)}"
        raise source.error(
            f"there is no run {number}: the file holds {counted(len(found), 'benchmark')}.", hint=hint
        )
    said = [] if len(found) == 1 else [f"run {number} of {len(found)} in the file: another one with --run N"]
    names = Names("start_time", "prompt_tokens", "output_tokens")
    columns = gather(source, options, names, _guidellm(*found[number - 1]), unit=S)
    return columns.workload("guidellm", assumed=said)


def _lifecycle(source: Source) -> Iterator[Row]:
    for line, record in records(source):
        info = inside(record or {}, "info")
        usage = inside(info, "response_metrics", "server_usage")
        prompt = _first(
            info,
            ("input_tokens",),
            ("request_metrics", "input_tokens"),
            ("request_metrics", "text", "input_tokens"),
        )
        output = _first(info, ("response_metrics", "output_tokens"), ("output_tokens",))
        output = inside(usage, "completion_tokens") if output is None else output
        yield Row(
            line, inside(record, "start_time"), prompt, output, why=_ERROR if inside(record, "error") else ""
        )


def _guidellm(line: int, benchmark: object) -> Iterator[Row]:
    for kind, requests in _lists(benchmark).items():
        why = {"successful": "", "errored": _ERROR}.get(kind, "not finished when the benchmark ended")
        for request in requests:
            yield Row(
                line,
                _first(request, *_STARTS),
                _first(request, *_PROMPTS),
                _first(request, *_OUTPUTS),
                why=why,
            )


def _first(record: object, *paths: tuple[str, ...]) -> Any:
    return next((found for path in paths if (found := inside(record, *path)) is not None), None)
