"""The bytes of a trace: opened, unpacked and looked at before anything is parsed."""

from __future__ import annotations

import hashlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from kvtui.errors import TraceError
from kvtui.traces.packing import is_packed, unpacked

STDIN = "-"
LOOK = 1 << 16  # bytes that are enough to tell text from something else
_BLOCK = 1 << 20

_UTF8_BOM = b"\xef\xbb\xbf"
_TEXT_CONTROLS = {0x09, 0x0A, 0x0C, 0x0D, 0x1B}
_PACKED = {".gz", ".bz2", ".xz", ".zst"}
_SUFFIXES = _PACKED | {".parquet", ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"}

# What a file starts with, what that is, and what to do about it.
_CONTAINERS = (
    (b"PK\x03\x04", "a zip archive", "unpack it and open the file inside"),
    (b"\x1f\x8b", "compressed twice", "unpack it once"),
    (b"\x28\xb5\x2f\xfd", "compressed twice", "unpack it once"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it and open the file inside"),
    (b"ARROW1", "an Arrow file", "save its columns as CSV or JSON Lines"),
    (b"version https://git-lfs", "a Git LFS pointer, not the data", "fetch the data with 'git lfs pull'"),
)


Progress = Callable[[int, int], None]  # how much of a trace is read, and how much there is


def silent(done: int, total: int) -> None:
    """No progress to show."""


class Source:
    """Plain UTF-8 text of a trace, without byte order mark, and where it comes from."""

    def __init__(
        self, label: str, name: str, head: bytes, raw: bytes | None = None, progress: Progress = silent
    ) -> None:
        self.label = label  # as the user wrote it, for messages
        self.name = name  # short, for the screen
        self.head = head  # the first LOOK bytes
        self.raw = raw  # all bytes before unpacking, where they cannot be read again
        self.progress = progress

    @cached_property
    def text(self) -> str:
        quiet = Source(self.label, self.name, self.head, self.raw)
        return b"".join(quiet.blocks()).decode("utf-8", "replace")

    @cached_property
    def sha256(self) -> str:
        """Of the bytes before unpacking."""
        with _opened(self.label, self.raw) as stream:
            digest = hashlib.sha256()
            while block := stream.read(_BLOCK):
                digest.update(block)
            return digest.hexdigest()

    def blocks(self, size: int = _BLOCK) -> Iterator[bytes]:
        """All bytes from the start, `size` at a time."""
        with _opened(self.label, self.raw) as stream:
            total = stream.seek(0, os.SEEK_END)
            stream.seek(0)
            read = unpacked(stream, label=self.label)
            first = read(size).removeprefix(_UTF8_BOM)
            while first:
                self.progress(stream.tell(), total)
                yield first
                first = read(size)

    def ends_in_a_number(self) -> bool:
        """Whether the last byte is a digit: without a line end nobody can tell a cut number from a whole one.
        False for packed bytes, of which a missing end is noticed when they are unpacked."""
        with _opened(self.label, self.raw) as stream:
            if is_packed(stream.read(LOOK)):
                return False
            stream.seek(-1, os.SEEK_END)
            return stream.read(1).isdigit()

    def error(self, message: str, *, line: int | None = None, hint: str | None = None) -> TraceError:
        return TraceError(message, path=self.label, line=line, hint=hint)


def is_directory(where: str) -> bool:
    """Whether `where` is a directory rather than a file or standard input."""
    try:
        return where != STDIN and Path(where).is_dir()
    except (OSError, ValueError):
        return False


def open_source(where: str, *, progress: Progress | None = None) -> Source:
    """Look at the start of the file `where`, or read standard input for "-".

    Raises TraceError where there are no bytes or where they cannot be the text of a trace.
    """
    label = "standard input" if where == STDIN else where
    raw = _read_stdin() if where == STDIN else None
    with _opened(where, raw) as stream:
        head = unpacked(stream, label=label)(LOOK + len(_UTF8_BOM)).removeprefix(_UTF8_BOM)[:LOOK]
    source = Source(label, _short(where), head, raw, progress or silent)
    if not head.strip() and not any(block.strip() for block in source.blocks()):
        raise TraceError("the file is empty.", path=label, hint="check that it was written and copied whole")
    _refuse_what_is_not_text(head, label=label)
    return source


def _short(where: str) -> str:
    if where == STDIN:
        return "stdin"
    path = Path(where)
    while path.suffix.lower() in _SUFFIXES and path.stem:
        path = path.with_suffix("")
    return path.name or where


def _read_stdin() -> bytes:
    if sys.stdin.isatty():
        raise TraceError(
            "nothing is piped in.", path="standard input", hint="for example: zcat trace.csv.gz | kvtui -"
        )
    begun = sys.stdin.buffer.read(LOOK)
    if not is_packed(begun):
        _refuse_what_is_not_text(begun, label="standard input")  # now: it may have no end
    return begun + sys.stdin.buffer.read()


@contextmanager
def _opened(where: str, raw: bytes | None) -> Iterator[BinaryIO]:
    """The bytes before unpacking, as a file that can be wound back."""
    if raw is not None:
        yield io.BytesIO(raw)
        return
    try:
        with open(where, "rb") as stream:
            if stream.seekable():
                yield stream
            else:
                yield io.BytesIO(stream.read())
    except FileNotFoundError:
        raise TraceError("there is no such file.", path=where, hint=_nearby(where)) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise TraceError(
            f"cannot be read: {reason}.", path=where, hint="check the file and its permissions"
        ) from None


def _nearby(where: str) -> str:
    """Names like the missing one in its folder, or the folder that is missing itself."""
    from difflib import get_close_matches

    path = Path(where)
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent} either; check the path"
    close = get_close_matches(path.name, names, n=1)
    return f"did you mean {path.parent / close[0]}?" if close else "check the path"


def _refuse_what_is_not_text(head: bytes, *, label: str) -> None:
    for magic, what, remedy in _CONTAINERS:
        if head.startswith(magic):
            raise TraceError(f"this is {what}.", path=label, hint=remedy)
    if head.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
        raise TraceError(
            "this is a web page, not a trace.", path=label, hint="download the raw file behind the page"
        )
    if any(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in set(head)):
        raise TraceError(
            "this is a binary file, not a text trace.",
            path=label,
            hint="kvtui reads CSV, JSON, JSON Lines and Parquet, plain or packed (gzip, bzip2, xz, zstd)",
        )
