"""A trace in the event format of Chrome's tracing, which Perfetto and chrome://tracing open.

A lane is a process. Its steps are slices of one thread, with what they computed; requests are asynchronous
slices (waiting, running), and the numbers running and waiting are counters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kvtui.exports.exhibit import Exhibit, LaneExhibit
from kvtui.frames.frame import Event, EventKind
from kvtui.frames.inspection import as_of

US_PER_S = 1e6
PS_PER_US = 1e6
_SPANS = {  # what begins with an event; what was open ends
    EventKind.ARRIVED: "waiting",
    EventKind.ADMITTED: "running",
    EventKind.PREEMPTED: "preempted",
    EventKind.SWAPPED: "swapped out",
    EventKind.RESTARTED: "preempted",
}
_ENDS = (EventKind.FINISHED, EventKind.REJECTED)
Entry = dict[str, Any]


def as_trace(exhibit: Exhibit) -> str:
    """All lanes in one trace; times are virtual."""
    entries: list[Entry] = []
    for pid, lane in enumerate(exhibit.lanes, start=1):
        name = f"{lane.info.title}, {lane.info.subtitle} ({lane.info.label})"
        entries.append(_named("process_name", pid, 0, name))
        entries.append(_named("thread_name", pid, 1, "steps"))
        if lane.forgotten:
            entries.append(_beginning(lane, pid))
        entries += _steps(lane, pid)
        entries += _requests(lane, pid)
    about = {"trace": exhibit.heading.trace, "model": exhibit.heading.model, "gpu": exhibit.heading.gpu}
    return json.dumps({"traceEvents": entries, "displayTimeUnit": "ms", "otherData": about})


def _named(what: str, pid: int, tid: int, name: str) -> Entry:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _beginning(lane: LaneExhibit, pid: int) -> Entry:
    """Says over all of the process what it does not tell."""
    known = next(iter(lane.chronicle.story(as_of(lane.frame))), None)
    return {
        "ph": "i",
        "s": "p",
        "name": f"the first {lane.forgotten:,} events are no longer known",
        "pid": pid,
        "tid": 1,
        "ts": 0.0 if known is None else known.time_s * US_PER_S,
        "args": {"events forgotten": lane.forgotten},
    }


def _steps(lane: LaneExhibit, pid: int) -> Iterator[Entry]:
    for step, start, end, count, decodes, tokens in lane.chronicle.steps.until(as_of(lane.frame)).tolist():
        yield {
            "ph": "X",
            "cat": "step",
            "name": f"step {step}" if count == 1 else f"{count} steps to {step}",
            "pid": pid,
            "tid": 1,
            "ts": start / PS_PER_US,
            "dur": (end - start) / PS_PER_US,
            "args": {"decodes": decodes, "prompt tokens": tokens, "steps": count},
        }


def _requests(lane: LaneExhibit, pid: int) -> Iterator[Entry]:
    open_spans: dict[int, str] = {}
    running = waiting = 0
    for event in lane.chronicle.story(as_of(lane.frame)):
        before = open_spans.get(event.request)
        if event.kind in _ENDS or event.kind in _SPANS:
            if before is not None:
                yield _span("e", before, event, pid)
            following = _SPANS.get(event.kind)
            if following is not None:
                open_spans[event.request] = following
                yield _span("b", following, event, pid)
            else:
                open_spans.pop(event.request, None)
            running += (following == "running") - (before == "running")
            waiting += (following in ("waiting", "preempted")) - (before in ("waiting", "preempted"))
            yield _count(event, pid, running, waiting)
        elif event.kind in (EventKind.FIRST_TOKEN, EventKind.HIT, EventKind.EVICTED, EventKind.COPIED):
            yield _span("n", event.kind.value, event, pid)
    for request, name in open_spans.items():
        last = Event(lane.frame.time_s, lane.frame.step, EventKind.FINISHED, request, 0, 0)
        yield _span("e", name, last, pid)


def _span(phase: str, name: str, event: Event, pid: int) -> Entry:
    """The beginning, the end or a moment of a request's slice."""
    return {
        "ph": phase,
        "cat": "request",
        "name": name,
        "id2": {"local": f"r{event.request}"},
        "pid": pid,
        "tid": 0,
        "ts": event.time_s * US_PER_S,
        "args": {"request": event.request, "step": event.step, "event": event.kind.value},
    }


def _count(event: Event, pid: int, running: int, waiting: int) -> Entry:
    values = {"running": running, "waiting": waiting}
    return {"ph": "C", "name": "requests", "pid": pid, "ts": event.time_s * US_PER_S, "args": values}
