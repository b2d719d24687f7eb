"""Delimited text with a header, read in pieces and by column name."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kvtui.traces.fields import Bytes, Field
from kvtui.traces.source import Source
from kvtui.traces.workload import Ints

PIECE = 1 << 20  # bytes looked at in one go: large enough for numpy, small enough for the processor's cache
_BATCH = 8192  # rows a piece where a quote forces the slow way
_DELIMITERS = ",;\t|"
_UNIT = "\x1f"  # separates fields after the slow way, where any other character may be data
_SPACE = re.compile(rb"\s*")
_INSIDE = str.maketrans({_UNIT: " ", "\n": " "})
_NEWLINE = ord("\n")
_BLANK = np.zeros(256, np.bool_)
_BLANK[list(b" \t\r")] = True


@dataclass(frozen=True, slots=True)
class Piece:
    """Some consecutive rows: their line numbers and their fields by column name."""

    line: Ints
    fields: Mapping[str, Field]

    def __len__(self) -> int:
        return len(self.line)


class Table:
    """A source read as delimited text; `columns` are the names in its header."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._data = source.data
        first = _SPACE.match(source.data)
        self._first = first.end() if first else 0
        self._start = source.data.find(b"\n", self._first) + 1 or len(source.data)
        header = source.data[self._first : self._start].decode("utf-8", "replace").strip()
        self._delimiter = max(_DELIMITERS, key=header.count)
        self.columns = tuple(name.strip() for name in self._names(header))

    def _names(self, header: str) -> list[str]:
        try:
            return next(csv.reader([header], delimiter=self._delimiter))
        except csv.Error:  # no header at all, then: show what is there
            return header.split(self._delimiter)

    def pieces(self) -> Iterator[Piece]:
        """All rows in file order but blank lines. A row with too few or too many fields has empty ones."""
        if b'"' in self._data:
            yield from self._quoted()
        else:
            yield from self._plain()

    def rows(self, count: int) -> list[dict[str, str]]:
        """The first `count` rows, by column name."""
        piece = next(self.pieces(), None)
        if piece is None:
            return []
        some = np.arange(min(count, len(piece)))
        texts = {name: field.take(some).texts() for name, field in piece.fields.items()}
        return [{name: column[index] for name, column in texts.items()} for index in some]

    def _plain(self) -> Iterator[Piece]:
        line = 1 + self._data.count(b"\n", 0, self._start)
        for text in _cut(self._data, self._start):
            fields = _split(text, width=len(self.columns), separator=ord(self._delimiter))
            if fields is None:
                rows = (row.split(self._delimiter) for row in text.decode("utf-8", "replace").split("\n"))
                yield self._regular(list(enumerate(rows, start=line)))
            else:
                yield self._piece(np.arange(line, line + len(fields[0])), fields)
            line += text.count(b"\n")

    def _quoted(self) -> Iterator[Piece]:
        stream = io.TextIOWrapper(io.BytesIO(self._data[self._first :]), "utf-8", "replace", newline="")
        reader = csv.reader(stream, delimiter=self._delimiter)
        above = self._data.count(b"\n", 0, self._first)
        numbered = ((above + reader.line_num, row) for row in reader)
        try:
            next(numbered)
            while batch := list(islice(numbered, _BATCH)):
                yield self._regular(batch)
        except csv.Error as error:
            line = above + reader.line_num
            raise self._source.error(
                f"not a CSV file ({error}).", line=line, hint="look for a quote that is never closed"
            ) from None

    def _regular(self, rows: Sequence[tuple[int, list[str]]]) -> Piece:
        """Rows of any length as fields of equal number."""
        width = len(self.columns)
        kept = [(line, row) for line, row in rows if any(map(str.strip, row))]
        full = [row if len(row) == width else [""] * width for _, row in kept]
        text = "".join(_UNIT.join(cell.translate(_INSIDE) for cell in row) + "\n" for row in full).encode()
        fields = _split(text, width=width, separator=ord(_UNIT)) if full else [Field.of([])] * width
        assert fields is not None, "rows were made regular"
        return self._piece(np.array([line for line, _ in kept], np.int64), fields)

    def _piece(self, line: Ints, fields: Sequence[Field]) -> Piece:
        return Piece(line, dict(zip(self.columns, fields, strict=True)))


def _cut(data: bytes, start: int) -> Iterator[bytes]:
    """Whole lines of about PIECE bytes; blank space at the end is dropped, a missing last newline added."""
    end = len(data)
    while end > start and data[end - 1 : end].isspace():
        end -= 1
    while start < end:
        stop = data.find(b"\n", min(start + PIECE, end)) + 1 or len(data)
        text = data[start : min(stop, end)]
        yield text if text.endswith(b"\n") else text + b"\n"
        start = stop


def _split(text: bytes, *, width: int, separator: int) -> list[Field] | None:
    """The fields of each column, or None where lines have different numbers of them."""
    buf = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero((buf == separator) | (buf == _NEWLINE))
    if len(ends) % width:
        return None
    grid = ends.reshape(-1, width)
    if not ((buf[grid] == _NEWLINE) == (np.arange(width) == width - 1)).all():
        return None
    starts = np.concatenate(([0], ends[:-1] + 1)).reshape(-1, width)
    return [_trimmed(buf, starts[:, column], grid[:, column]) for column in range(width)]


def _trimmed(buf: Bytes, start: Ints, stop: Ints) -> Field:
    """Without blanks and carriage returns around each value."""
    start, stop = start.copy(), stop.copy()
    while (blank := (stop > start) & _BLANK[buf.take(stop - 1, mode="clip")]).any():
        stop -= blank
    while (blank := (stop > start) & _BLANK[buf.take(start, mode="clip")]).any():
        start += blank
    return Field(buf, start, stop)
