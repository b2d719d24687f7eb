"""Text files that are no trace: say what they are and what would help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvtui.errors import TraceError
from kvtui.traces.dates import dates
from kvtui.traces.fields import Field, numbers
from kvtui.traces.formats import plain
from kvtui.traces.loader import Sample
from kvtui.traces.records import inside, items
from kvtui.traces.source import Source

_SHOWN = 12  # columns or keys worth listing
_TOTALS = {"total_input_tokens", "total_output_tokens", "request_throughput", "num_prompts", "completed"}
_STATISTICS = {"mean", "avg", "p50", "p90", "p99", "median"}
_TEXT = ("conversations", "conversation", "messages", "prompt", "text_input", "text", "body")


class _Kind(NamedTuple):
    """A file that holds no requests to replay: how it is known, what it is, and what to do."""

    is_one: Callable[[Sample], bool]
    what: str
    remedy: str


def _has(*keys: str) -> Callable[[Sample], bool]:
    return lambda sample: sample.has(*keys)


def _is_server_log(sample: Sample) -> bool:
    lines = [*sample.columns, *(str(value) for row in sample.records for value in row.values())]
    return sample.tabular and any("Received request" in line or "SamplingParams(" in line for line in lines)


def _are_rates(sample: Sample) -> bool:
    """ServeGen's files: windows of time with distributions, as JSON or as a table without a header."""
    if sample.tabular:
        return bool({"Gamma", "Weibull", "Exponential", "Poisson"} & set(sample.columns))
    windows = sample.records[0].values() if len(sample.records) == 1 else ()
    return bool(windows) and all(isinstance(inside(window, "input_tokens"), str | dict) for window in windows)


_KINDS = (
    _Kind(
        lambda sample: sample.has("input_sequence_length") and _holds_statistics(sample),
        "an AIPerf summary without per-request data",
        "open the profile_export.jsonl of the same run",
    ),
    _Kind(
        lambda sample: any(inside(row, "payloads") for row in items(sample.records[0], "data")),
        "the inputs of an AIPerf run, without times or answers",
        "open the profile_export.jsonl of the same run",
    ),
    _Kind(
        _has("load_summary"),
        "an inference-perf summary without per-request data",
        "open per_request_lifecycle_metrics.json of the same run",
    ),
    _Kind(
        _has("benchmarks"),
        "a guidellm report without its requests",
        "write the report as JSON with all requests kept, not a sample of them",
    ),
    _Kind(
        _has("experiments"),
        "a GenAI-Perf profile without token counts",
        "run it with AIPerf and open its profile_export.jsonl",
    ),
    _Kind(
        _is_server_log,
        "the log of a server, without token counts",
        "record OpenTelemetry traces, or take the log of the gateway before it",
    ),
    _Kind(
        _are_rates,
        "rates and distributions (ServeGen), not requests",
        "generate requests from it first, or make a trace with 'kvtui trace synth'",
    ),
    _Kind(
        lambda sample: any(
            isinstance(turns, list) and turns and isinstance(turns[0], list)
            for turns in sample.column("conversations")
        ),
        "an SGLang agentic trace, which has no answers",
        "run the benchmark with --output-details and open its result",
    ),
)


def unknown(source: Source, sample: Sample) -> TraceError:
    """The error for a file that no loader takes."""
    if not sample.records:
        return _without_rows(source, sample)
    known = next((kind for kind in _KINDS if kind.is_one(sample)), None)
    if known:
        return source.error(f"this is {known.what}.", hint=known.remedy)
    totals = len(_TOTALS & set(sample.columns)) >= 2 and not sample.has("input_lens")
    if totals or _holds_statistics(sample):
        return _summary(source, sample)
    if sample.tabular and _all_data(sample.columns):
        hint = "add a first line such as arrival_s,prompt_tokens,output_tokens"
        return source.error("the first line holds data, not the names of columns.", line=1, hint=hint)
    text = plain.text_column(sample) or next((key for key in _TEXT if sample.has(key)), None)
    if text:
        hint = (
            "save prompt_tokens and output_tokens with each request, or at least the answers or their length"
        )
        return source.error(f"'{text}' holds text, and there are no token counts.", hint=hint)
    what = "columns" if sample.tabular else "keys"
    names = ", ".join(sample.columns[:_SHOWN]) + (", ..." if len(sample.columns) > _SHOWN else "")
    hint = f"name the {what} arrival, prompt_tokens and output_tokens; 'kvtui trace formats' lists others"
    return source.error(f"no known trace format has these {what}: {names}.", hint=hint)


def _without_rows(source: Source, sample: Sample) -> TraceError:
    if sample.tabular:
        return source.error(
            "there are no rows below the first line.", hint="check that the file was written whole"
        )
    return source.error(
        "there is no JSON object in it.", hint="each request is one object with its token counts"
    )


def _holds_statistics(sample: Sample) -> bool:
    """Whether a lone object has means and percentiles instead of requests."""
    values = sample.records[0].values() if len(sample.records) == 1 else ()
    return any(isinstance(value, dict) and len(_STATISTICS & value.keys()) >= 2 for value in values)


def _summary(source: Source, sample: Sample) -> TraceError:
    sglang = sample.has("total_output_tokens_retokenized")
    tool = "an SGLang" if sglang else "a vLLM" if sample.has("num_prompts") else "a"
    options = "--output-details" if sglang else "--save-result --save-detailed"
    hint = f"run it again with {options}" if tool != "a" else "save the records of the requests too"
    return source.error(f"{tool} benchmark summary without per-request data.", hint=hint)


def _all_data(columns: Sequence[str]) -> bool:
    field = Field.of(columns)
    return bool((numbers(field).ok | dates(field)[0].ok).all())
