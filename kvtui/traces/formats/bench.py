"""Results of `vllm bench serve` and SGLang's bench_serving: one object a run, with parallel lists."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from kvtui.traces.fields import BILLION
from kvtui.traces.gather import Row, gather
from kvtui.traces.leftout import rows as counted
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import records
from kvtui.traces.source import Source
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

name = "bench"
title = "results of vllm bench serve or SGLang bench_serving, with details"

_PROMPT, _OUTPUT, _TIME = "input_lens", "output_lens", "start_times"
_SGLANG = ("total_input_text_tokens", "total_output_tokens_retokenized", "dataset_name")


def matches(sample: Sample) -> bool:
    return not sample.tabular and any(_is_run(record) for record in sample.records)


def _is_run(record: dict[str, Any]) -> bool:
    return isinstance(record.get(_PROMPT), list) and isinstance(record.get(_OUTPUT), list)


def read(source: Source, sample: Sample, options: Options) -> Workload:
    runs = [(line, record) for line, record in records(source) if record is not None and _is_run(record)]
    number = options.run or 1
    if number > len(runs):
        hint = f"give --run 1 to {len(runs)}" if len(runs) > 1 else "leave --run out"
        raise source.error(
            f"there is no run {number}: the file holds {counted(len(runs), 'run')}.", hint=hint
        )
    line, run = runs[number - 1]
    said = [] if len(runs) == 1 else [f"run {number} of {len(runs)} in the file: another one with --run N"]
    times, about = _times(run)
    names = Names(_TIME if times else None, _PROMPT, _OUTPUT)
    found = _rows(line, run, times, keep_failed=options.keep_failed)
    columns = gather(source, options, names, found, unit=S, sure=True)
    format = "sglang-bench" if any(key in run for key in _SGLANG) else "vllm-bench"
    return columns.workload(format, assumed=[*said, *about])


def _rows(line: int, run: dict[str, Any], times: list[Any], *, keep_failed: bool) -> Iterator[Row]:
    errors = run.get("errors") if isinstance(run.get("errors"), list) else []
    lists = zip_longest(times, run[_PROMPT], run[_OUTPUT], errors or [])
    for time, prompt, output, error in lists:
        failed = bool(error) and output != 0 and not keep_failed
        yield Row(line, time, prompt, output, why="the benchmark recorded an error" if failed else "")


def _times(run: dict[str, Any]) -> tuple[list[Any], list[str]]:
    """When requests were sent: as recorded, or spaced by the rate that vLLM was asked for."""
    times, rate = run.get(_TIME), run.get("request_rate")
    if isinstance(times, list) and len(times) == len(run[_PROMPT]):
        return times, []
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 < rate < math.inf:
        return [], []
    if any(key in run for key in _SGLANG):
        return [], [f"the benchmark sent {rate:g} requests a second: --rate {rate:g} spaces them so"]
    gap = round(BILLION / rate)
    said = f"no start times recorded: requests spaced evenly at the request_rate of {rate:g} a second"
    return [place * gap / BILLION for place in range(len(run[_PROMPT]))], [said]
