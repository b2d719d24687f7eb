"""A file of finished cells, one JSON object a line, so that a sweep that was interrupted goes on."""

from __future__ import annotations

import errno
import fcntl
import io
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from kvtui.errors import ConfigError
from kvtui.sweep.cell import Cell, Result
from kvtui.sweep.shape import is_result

FORMAT = "kvtui_sweep"
VERSION = 2  # 1: other keys, and times of another model


class Ledger:
    """Results by cell. Each is written and flushed as soon as it is known; without a path nothing is kept."""

    def __init__(self, path: str | None = None) -> None:
        self.results: dict[str, Result] = {}
        self._path = Path(path) if path else None
        self._file: IO[str] | None = None
        if self._path and self._path.exists():
            if not self._path.is_file():
                raise ConfigError(f"{path} is no file that a ledger can be kept in", hint="name a new file")
            if self._path.stat().st_size:
                self._read(self._path)

    def add(self, cell: Cell, result: Result) -> None:
        """A cell is done."""
        self.results[cell.key] = result
        self._write({"key": cell.key, "cell": asdict(cell), "result": result})

    def forget(self, status: str) -> None:
        """Take cells of that status as not done."""
        self.results = {key: r for key, r in self.results.items() if r["status"] != status}

    def open(self) -> None:
        """Make sure that the file can be written. Raises ConfigError."""
        if self._path and self._file is None:
            self._file = self._open(self._path)

    def close(self) -> None:
        if self._file:
            with suppress(OSError):  # every line was flushed when it was written, or that was reported
                self._file.close()

    def _read(self, path: Path) -> None:
        try:
            text = path.read_text("utf-8", errors="replace")
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
        lines = text.splitlines()
        version = _entry(lines[0]).get(FORMAT)
        if version != VERSION:
            what = "no ledger of a sweep" if version is None else "the ledger of another release of kvtui"
            raise ConfigError(f"{path} is {what}", hint="choose another file for --ledger")
        for number, line in enumerate(lines[1:], 2):
            entry = _entry(line)
            if isinstance(entry.get("key"), str) and is_result(entry.get("result")):
                self.results[entry["key"]] = entry["result"]
            elif number < len(lines) or text.endswith("\n"):  # else it was cut off
                raise ConfigError(
                    f"{path}:{number}: this line is no result of a cell",
                    hint="remove it; its cell runs again",
                )

    def _write(self, entry: dict[str, Any]) -> None:
        self.open()
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(entry, separators=(",", ":")) + "\n")
            self._file.flush()
        except OSError as error:
            raise ConfigError(
                f"{self._path} cannot be written: {error.strerror}",
                hint="the same command goes on from what is in it",
            ) from None

    def _open(self, path: Path) -> IO[str]:
        try:
            file = path.open("a+b")
            _claim(file)
            file.seek(0)
            whole = file.read().rfind(b"\n") + 1
            file.truncate(whole)  # of a line that was cut off nothing is left
        except BlockingIOError:
            hint = "wait for it, or name another file"
            raise ConfigError(f"{path} is the ledger of a sweep that still runs", hint=hint) from None
        except OSError as error:
            raise ConfigError(f"{path} cannot be written: {error.strerror}") from None
        text = io.TextIOWrapper(file, "utf-8")
        if not whole:
            text.write(json.dumps({FORMAT: VERSION}) + "\n")
        return text


def _claim(file: IO[bytes]) -> None:
    """Until it is closed; where the file system knows no locks, two sweeps have to know of each other."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL):
            raise


def _entry(line: str) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}
