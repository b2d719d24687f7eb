"""Delimited text with a header, read in pieces and by column name."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from kvtui.traces.fields import Bytes, Field
from kvtui.traces.source import Source
from kvtui.traces.workload import Ints

PIECE = 1 << 20  # bytes looked at in one go: large enough for numpy, small enough for the processor's cache
_BATCH = 8192  # rows a piece where a quote forces the slow way
_DELIMITERS = ",;\t|"
_UNIT = "\x1f"  # separates fields after the slow way, where any other character may be data
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
        header = self._header()
        self._delimiter = max(_DELIMITERS, key=header.count)
        self.columns = tuple(name.strip() for name in self._names(header))

    def _names(self, header: str) -> list[str]:
        try:
            return next(csv.reader([header], delimiter=self._delimiter))
        except csv.Error:  # no header at all, then: show what is there
            return header.split(self._delimiter)

    def pieces(self) -> Iterator[Piece]:
        """All rows in file order but blank lines. A row with too few or too many fields has empty ones."""
        body = self._body()
        for line, block in body:
            if b'"' in block:
                yield from self._quoted(line, chain([block], (block for _, block in body)))
            elif block.strip():
                yield self._plain(line, block)

    def rows(self, count: int) -> list[dict[str, str]]:
        """The first `count` rows, by column name."""
        piece = next(self.pieces(), None)
        if piece is None:
            return []
        some = np.arange(min(count, len(piece)))
        texts = {name: field.take(some).texts() for name, field in piece.fields.items()}
        return [{name: column[index] for name, column in texts.items()} for index in some]

    def _blocks(self) -> Iterator[bytes]:
        """Whole lines, about PIECE bytes of them."""
        begun: list[bytes] = []
        for block in self._source.blocks(PIECE):
            end = block.rfind(b"\n") + 1
            if end:
                yield b"".join((*begun, block[:end]))
                begun.clear()
            begun.append(block[end:])
        yield b"".join(begun)

    def _header(self) -> str:
        """The first line that is not blank."""
        texts = (block.lstrip() for block in self._blocks())
        header = next((text for text in texts if text), b"").split(b"\n", 1)[0]
        return header.decode("utf-8", "replace").strip()

    def _body(self) -> Iterator[tuple[int, bytes]]:
        """What stands below the header, and the number of its first line."""
        line, below = 1, False
        for block in self._blocks():
            start = 0
            if not below and (text := block.lstrip()):
                start = block.find(b"\n", len(block) - len(text)) + 1 or len(block)
                below = True
            line += block.count(b"\n", 0, start)
            if below:
                yield line, block[start:]
            line += block.count(b"\n", start)

    def _plain(self, line: int, block: bytes) -> Piece:
        text = block.rstrip(b"\r\n") + b"\n"
        fields = _split(text, width=len(self.columns), separator=ord(self._delimiter))
        if fields is not None:
            return self._piece(np.arange(line, line + len(fields[0])), fields)
        rows = (row.split(self._delimiter) for row in text.decode("utf-8", "replace").split("\n"))
        return self._regular(list(enumerate(rows, start=line)))

    def _quoted(self, line: int, blocks: Iterable[bytes]) -> Iterator[Piece]:
        """Blocks from the first that holds a quote on, read slowly: a field may hold line ends."""
        texts = (block.decode("utf-8", "replace") for block in blocks)
        lines = (row for text in texts for row in io.StringIO(text, newline=""))
        reader = csv.reader(lines, delimiter=self._delimiter)
        numbered = ((line - 1 + reader.line_num, row) for row in reader)
        try:
            while batch := list(islice(numbered, _BATCH)):
                yield self._regular(batch)
        except csv.Error as error:
            raise self._source.error(
                f"not a CSV file ({error}).",
                line=line - 1 + reader.line_num,
                hint="look for a quote that is never closed",
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
