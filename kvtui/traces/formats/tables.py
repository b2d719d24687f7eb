"""CSV files of simulators and benchmarks that differ in the names of their columns only."""

from __future__ import annotations

from typing import NamedTuple

from kvtui.traces.draft import Draft
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.sessions import Sessions
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.timeunits import S
from kvtui.traces.workload import Workload

name = "tables"
title = "CSV of Vidur, Splitwise-sim or multi-round QA"


class _Kind(NamedTuple):
    """A format, its columns, and what else its header has to hold."""

    format: str
    time: str
    prompt: str
    output: str
    session: str = ""
    mark: str = ""
    said: str = ""


_KINDS = (
    _Kind("multi-round-qa", "launch_time", "prompt_tokens", "generation_tokens", "user_id", "question_id"),
    _Kind(
        "vidur",
        "arrived_at",
        "num_prefill_tokens",
        "num_decode_tokens",
        said="traces that went through Vidur may have been clipped and scaled by it",
    ),
    _Kind("splitwise-sim", "arrival_timestamp", "prompt_size", "token_size", mark="request_type"),
    _Kind("swissai", "created_at_iso", "prompt_tokens", "output_tokens"),
)


def _kind(sample: Sample) -> _Kind | None:
    for kind in _KINDS:
        needed = (kind.time, kind.prompt, kind.output, kind.session, kind.mark)
        if sample.has(*filter(None, needed)):
            return kind
    return None


def matches(sample: Sample) -> bool:
    return sample.tabular and _kind(sample) is not None


def read(source: Source, sample: Sample, options: Options) -> Workload:
    kind = _kind(sample)
    assert kind is not None, "the sample matched"
    draft = Draft(source, options, Names(kind.time, kind.prompt, kind.output))
    sessions = Sessions()
    for piece in Table(source).pieces():
        fields = piece.fields
        kept = draft.add(
            piece.line, time=fields[kind.time], prompt=fields[kind.prompt], output=fields[kind.output]
        )
        if kind.session:
            sessions.add(fields[kind.session].take(kept).texts())
        if draft.full:
            break
    said = [kind.said] if kind.said else []
    return sessions.workload(draft.finish(unit=S), kind.format, assumed=said)
