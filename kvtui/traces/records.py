"""JSON objects in a row: JSON Lines, one array, or objects spread over lines one after another."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from kvtui.errors import TraceError
from kvtui.traces.fields import Bools
from kvtui.traces.source import Source
from kvtui.traces.workload import Ints

Record = dict[str, Any]

_BATCH = 1024
_SKIP = re.compile(r"\s*(?:#[^\n]*\s*)*")  # blank space, and comment lines as some READMEs show them
_OBJECT = re.compile(r"^[ \t]*\{", re.MULTILINE)
_AGAIN = "copy or download the file again, or remove the unfinished end"
_decode = json.JSONDecoder().raw_decode


@dataclass(frozen=True, slots=True)
class Batch:
    """Some consecutive records and their line numbers; `broken` ones are no JSON object, and empty here."""

    line: Ints
    records: list[Record]
    broken: Bools

    def column(self, key: str) -> list[Any]:
        return [record.get(key) for record in self.records]

    def tail(self, count: int) -> Batch:
        """Without the first `count` records."""
        return Batch(self.line[count:], self.records[count:], self.broken[count:])

    def without(self, key: str) -> Batch:
        """Without the records that have `key`."""
        if not any(key in record for record in self.records):
            return self
        kept = [place for place, record in enumerate(self.records) if key not in record]
        return Batch(self.line[kept], [self.records[place] for place in kept], self.broken[kept])


def inside(record: object, *path: str) -> Any:
    """The value at the end of a path of keys; None where it does not lead there."""
    for key in path:
        record = record.get(key) if isinstance(record, dict) else None
    return record


def items(record: object, *path: str) -> list[Any]:
    """The list at the end of a path of keys; empty where there is none."""
    found = inside(record, *path)
    return found if isinstance(found, list) else []


def begins_json(source: Source) -> bool:
    """Whether the text starts with an object or an array."""
    head = source.head.decode("utf-8", "replace")
    return head.startswith(("{", "["), _skip(head, 0))


def batches(source: Source) -> Iterator[Batch]:
    """All records in file order."""
    found = records(source)
    while part := list(islice(found, _BATCH)):
        line = np.array([line for line, _ in part], np.int64)
        broken = np.array([record is None for _, record in part], np.bool_)
        yield Batch(line, [record or {} for _, record in part], broken)


def records(source: Source) -> Iterator[tuple[int, Record | None]]:
    """Line number and object of each record; None for a record that is no JSON object.

    Raises TraceError where the text is cut off, and where rows are separated as in an array but not in one.
    """
    start = _skip(source.text, 0)
    return _array(source, start + 1) if source.text.startswith("[", start) else _sequence(source, start)


def _sequence(source: Source, at: int) -> Iterator[tuple[int, Record | None]]:
    text, lines = source.text, _Lines(source.text)
    while at < len(text):
        line = lines.of(at)
        source.progress(at, len(text))
        try:
            value, end = _decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, at
        if isinstance(value, dict):
            at = _skip(text, end)
            if text.startswith(",", at):
                raise _comma(source, lines.of(at))
        else:
            start, at = at, _next_object(text, end)
            if at == len(text) and text[start] == "{" and not _ends_with(text, "}"):
                raise source.error("the last record is cut off.", line=line, hint=_AGAIN)
            value = None
        yield line, value


def _array(source: Source, at: int) -> Iterator[tuple[int, Record | None]]:
    text, lines = source.text, _Lines(source.text)
    while not text.startswith("]", at := _skip(text, at)):
        at = _skip(text, at + text.startswith(",", at))
        if text.startswith("]", at):
            break
        line = lines.of(at)
        source.progress(at, len(text))
        try:
            value, at = _decode(text, at)
        except (ValueError, RecursionError) as error:
            if not _ends_with(text, "]"):
                raise source.error("the array of rows is cut off.", line=line, hint=_AGAIN) from None
            line, what = getattr(error, "lineno", line), getattr(error, "msg", str(error))
            raise source.error(
                f"not valid JSON: {what}.", line=line, hint="rows may also stand one a line"
            ) from None
        yield line, value if isinstance(value, dict) else None
    rest = _skip(text, at + 1)
    if rest < len(text):
        hint = "put all rows into one array, or one object on each line"
        raise source.error("more text follows the array of rows.", line=lines.of(rest), hint=hint)


class _Lines:
    """Line numbers of growing positions."""

    def __init__(self, text: str) -> None:
        self._text, self._counted, self._line = text, 0, 1

    def of(self, at: int) -> int:
        self._line += self._text.count("\n", self._counted, at)
        self._counted = at
        return self._line


def _skip(text: str, at: int) -> int:
    found = _SKIP.match(text, at)
    return found.end() if found else at


def _next_object(text: str, at: int) -> int:
    """Where the next line that begins an object does so."""
    newline = text.find("\n", at)
    found = _OBJECT.search(text, newline + 1) if newline >= 0 else None
    return found.end() - 1 if found else len(text)


def _ends_with(text: str, last: str) -> bool:
    return text[-64:].rstrip().endswith(last)


def _comma(source: Source, line: int) -> TraceError:
    return source.error(
        "a comma follows the object, as in an array, but the rows are not in [ ].",
        line=line,
        hint="remove the comma after the object or put the rows in [ ]",
    )
