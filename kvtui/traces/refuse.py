"""Text files that are no trace: say what they are and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from kvtui.errors import TraceError
from kvtui.traces import plain
from kvtui.traces.dates import dates
from kvtui.traces.fields import Field, numbers
from kvtui.traces.loader import Sample
from kvtui.traces.source import Source

_SHOWN = 12  # columns or keys worth listing
_TOTALS = {"total_input_tokens", "total_output_tokens", "request_throughput", "num_prompts", "completed"}
_STATISTICS = {"mean", "avg", "p50", "p90", "p99", "median"}
_TEXT = ("conversations", "conversation", "messages", "prompt", "text_input", "text", "body")


def unknown(source: Source, sample: Sample, *, titles: Sequence[str]) -> TraceError:
    """The error for a file that no loader takes."""
    if not sample.records:
        return _without_rows(source, sample)
    totals = len(_TOTALS & set(sample.columns)) >= 2 and not sample.has("input_lens")
    if totals or _holds_statistics(sample):
        return _summary(source, sample)
    if sample.tabular and _all_data(sample.columns):
        hint = "add a first line such as arrival_s,prompt_tokens,output_tokens"
        return source.error("the first line holds data, not the names of columns.", line=1, hint=hint)
    text = plain.text_column(sample) or next((key for key in _TEXT if sample.has(key)), None)
    if text:
        hint = "count the tokens of each request and save them as prompt_tokens and output_tokens"
        return source.error(f"'{text}' holds text, and there are no token counts.", hint=hint)
    what = "columns" if sample.tabular else "keys"
    names = ", ".join(sample.columns[:_SHOWN]) + (", ..." if len(sample.columns) > _SHOWN else "")
    hint = f"known formats: {'; '.join(titles)}"
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
