"""The bytes of a trace: opened, unpacked and looked at before anything is parsed."""

from __future__ import annotations

import gzip
import hashlib
import sys
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kvtui.errors import TraceError

STDIN = "-"
LOOK = 1 << 16  # bytes that are enough to tell text from something else

_UTF8_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_TEXT_CONTROLS = {0x09, 0x0A, 0x0C, 0x0D, 0x1B}
_SUFFIXES = {".gz", ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"}

# What a file starts with, what that is, and what to do about it.
_CONTAINERS = (
    (b"PK\x03\x04", "a zip archive", "unpack it and open the file inside"),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it with 'zstd -d', or pipe it in with 'zstdcat'"),
    (b"BZh", "compressed with bzip2", "unpack it with 'bunzip2'"),
    (b"\xfd7zXZ\x00", "compressed with xz", "unpack it with 'unxz'"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it and open the file inside"),
    (b"PAR1", "a Parquet file", "save its columns as CSV or JSON Lines"),
    (b"ARROW1", "an Arrow file", "save its columns as CSV or JSON Lines"),
    (b"version https://git-lfs", "a Git LFS pointer, not the data", "fetch the data with 'git lfs pull'"),
    (b"\xff\xfe", "UTF-16 text", "convert it with 'iconv -f UTF-16 -t UTF-8'"),
    (b"\xfe\xff", "UTF-16 text", "convert it with 'iconv -f UTF-16 -t UTF-8'"),
)


@dataclass(frozen=True)
class Source:
    """Plain UTF-8 bytes of a trace, without byte order mark, and where they came from."""

    label: str  # as the user wrote it, for messages
    name: str  # short, for the screen
    data: bytes
    sha256: str  # of the bytes before unpacking

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace")

    def error(self, message: str, *, line: int | None = None, hint: str | None = None) -> TraceError:
        return TraceError(message, path=self.label, line=line, hint=hint)


def open_source(where: str) -> Source:
    """Read and unpack the file `where`, or standard input for "-".

    Raises TraceError where there are no bytes or where they cannot be the text of a trace.
    """
    label = "standard input" if where == STDIN else where
    raw = _read_stdin() if where == STDIN else _read_file(where)
    digest = hashlib.sha256(raw).hexdigest()
    data = (_unpack(raw, label=label) if raw.startswith(_GZIP) else raw).removeprefix(_UTF8_BOM)
    if not data[:LOOK].strip() and not data.strip():
        raise TraceError("the file is empty.", path=label, hint="check that it was written and copied whole")
    _refuse_what_is_not_text(data, label=label)
    return Source(label=label, name=_short(where), data=data, sha256=digest)


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
    return sys.stdin.buffer.read()


def _read_file(where: str) -> bytes:
    try:
        return Path(where).read_bytes()
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


def _unpack(raw: bytes, *, label: str) -> bytes:
    try:
        return gzip.decompress(raw)
    except EOFError:
        raise TraceError(
            "the gzip data is cut off.", path=label, hint="copy or download the file again"
        ) from None
    except (OSError, zlib.error) as error:
        raise TraceError(
            f"the gzip data is damaged ({error}).", path=label, hint="copy or download the file again"
        ) from None


def _refuse_what_is_not_text(data: bytes, *, label: str) -> None:
    for magic, what, remedy in _CONTAINERS:
        if data.startswith(magic):
            raise TraceError(f"this is {what}.", path=label, hint=remedy)
    head = data[:LOOK]
    if head.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
        raise TraceError(
            "this is a web page, not a trace.", path=label, hint="download the raw file behind the page"
        )
    if any(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in set(head)):
        raise TraceError(
            "this is a binary file, not a text trace.",
            path=label,
            hint="kvtui reads CSV, JSON and JSON Lines, plain or gzip",
        )
