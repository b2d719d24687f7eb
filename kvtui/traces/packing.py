"""Traces as they are stored: packed with gzip, bzip2, xz or zstd, as UTF-16 text, or as a Parquet file."""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, cast

from kvtui.errors import TraceError

UTF16 = b"\xff\xfe", b"\xfe\xff"
PARQUET = b"PAR1"
_AGAIN = "copy or download the file again"
_BATCH = 1 << 14  # rows of a Parquet file unpacked at a time

Read = Callable[[int], bytes]


def unpacked(stream: BinaryIO, *, label: str) -> Read:
    """A function that reads on in `stream`, which stands at its start, as text.

    It, and what it returns, raises TraceError for what cannot be unpacked.
    """
    magic = stream.read(6)
    stream.seek(0)
    if magic.startswith(PARQUET):
        return _reading(io.BufferedReader(_Lines(_rows(stream, label))), "Parquet", label)
    if magic.startswith(UTF16):
        return _reading(cast(BinaryIO, _Utf8(stream)), "UTF-16", label)
    for start, name, opened in _PACKERS:
        if magic.startswith(start):
            return _reading(opened(stream, label), name, label)
    return stream.read


def is_packed(start: bytes) -> bool:
    """Whether bytes that begin like this have to be unpacked."""
    return start.startswith((PARQUET, *UTF16, *(magic for magic, _, _ in _PACKERS)))


def _reading(plain: BinaryIO, name: str, label: str) -> Read:
    import lzma
    import zlib

    errors: tuple[type[Exception], ...] = (OSError, ValueError, zlib.error, lzma.LZMAError, *_zstd_errors())

    def read(size: int) -> bytes:
        try:
            return plain.read(size)
        except EOFError:
            what = f"the {name} data is cut off."
        except TraceError:
            raise
        except errors as error:
            what = f"the {name} data is damaged ({error})."
        raise TraceError(what, path=label, hint=_AGAIN)

    return read


def _gzip(stream: BinaryIO, label: str) -> BinaryIO:
    import gzip

    return cast(BinaryIO, gzip.GzipFile(fileobj=stream))


def _bz2(stream: BinaryIO, label: str) -> BinaryIO:
    import bz2

    return cast(BinaryIO, bz2.BZ2File(stream))


def _xz(stream: BinaryIO, label: str) -> BinaryIO:
    import lzma

    return cast(BinaryIO, lzma.LZMAFile(stream))


def _zstd(stream: BinaryIO, label: str) -> BinaryIO:
    zstd = _zstd_module()
    if zstd is None:
        hint = "install it with: pip install 'kvtui[traces]', or pipe the trace in with 'zstdcat'"
        raise TraceError("this is compressed with zstd, which needs a package.", path=label, hint=hint)
    return cast(BinaryIO, zstd.ZstdFile(stream))


_PACKERS: tuple[tuple[bytes, str, Callable[[BinaryIO, str], BinaryIO]], ...] = (
    (b"\x1f\x8b", "gzip", _gzip),
    (b"BZh", "bzip2", _bz2),
    (b"\xfd7zXZ\x00", "xz", _xz),
    (b"\x28\xb5\x2f\xfd", "zstd", _zstd),
)


def _zstd_module() -> Any:
    """That of Python 3.14 and newer, or the same for older ones; None where there is neither."""
    from importlib import import_module

    for name in ("compression.zstd", "backports.zstd"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return None


def _zstd_errors() -> tuple[type[Exception], ...]:
    zstd = _zstd_module()
    return () if zstd is None else (zstd.ZstdError,)


class _Utf8:
    """UTF-16 text with a byte order mark, as spreadsheets write it, read as UTF-8."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-16")()

    def read(self, size: int) -> bytes:
        text = ""
        while not text and (block := self._stream.read(size)):
            text = self._decoder.decode(block)
        return (text or self._decoder.decode(b"", final=True)).encode()


class _Lines(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces, self._rest = pieces, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(self._pieces, b"")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _rows(stream: BinaryIO, label: str) -> Iterator[bytes]:
    """The rows of a Parquet file: as CSV, or as JSON Lines where columns hold lists or records."""
    try:
        from pyarrow import ArrowException, csv, parquet, types
    except ImportError:
        hint = "install it with: pip install 'kvtui[traces]', or save the columns as CSV or JSON Lines"
        raise TraceError("this is a Parquet file, which needs a package.", path=label, hint=hint) from None
    try:
        file = parquet.ParquetFile(stream)
        nested = any(types.is_nested(column.type) for column in file.schema_arrow)
        header = not nested
        for batch in file.iter_batches(_BATCH):
            if nested:
                lines = (json.dumps(row, default=str) + "\n" for row in batch.to_pylist())
                yield "".join(lines).encode()
                continue
            sink = io.BytesIO()
            csv.write_csv(batch, sink, csv.WriteOptions(include_header=header))
            header = False
            yield sink.getvalue()
    except (ArrowException, OSError) as error:
        first = str(error).splitlines()[0].rstrip(".")
        raise TraceError(f"the Parquet data is damaged ({first}).", path=label, hint=_AGAIN) from None
