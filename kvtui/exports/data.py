"""Exports for programs: one row a request as CSV, and everything as JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

from kvtui.exports.exhibit import Exhibit, LaneExhibit, RequestRow, request_rows

SCHEMA = 1


def as_csv(exhibit: Exhibit) -> str:
    """A row for each request of each lane, unknown times left empty; in the last column how many events of
    the lane's beginning are no longer known, and with them requests."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(("lane", *RequestRow._fields, "events_forgotten"))
    for lane in exhibit.lanes:
        writer.writerows((lane.info.name, *row, lane.forgotten) for row in request_rows(lane))
    return stream.getvalue()


def as_json(exhibit: Exhibit) -> str:
    """The report, and of every lane its figures, its requests and the batch over time. Keys are added, never
    renamed."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "heading": asdict(exhibit.heading),
            "time_s": exhibit.time_s,
            "report": exhibit.report,
            "lanes": [_lane(lane) for lane in exhibit.lanes],
        },
        indent=1,
    )


def _lane(lane: LaneExhibit) -> dict[str, Any]:
    counters = lane.frame.counters._asdict()
    named = {key: value._asdict() if hasattr(value, "_asdict") else value for key, value in counters.items()}
    return {
        "lane": asdict(lane.info),
        "step": lane.frame.step,
        "time_s": lane.frame.time_s,
        "done": lane.frame.done,
        "counters": named,
        "batch": lane.frame.batch,
        "events_forgotten": lane.forgotten,
        "requests": [row._asdict() for row in request_rows(lane)],
    }
