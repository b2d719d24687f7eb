"""What a user can cause. Every error is one clear sentence with a remedy; a bug is an assert instead.

KvtuiError
├── ConfigError          an option, a lane, a model or a GPU that makes no sense
│   ├── DoesNotFit       the model leaves no room for KV memory
│   └── FileIsThere      a file of the user's that a new one would replace
├── TraceError           a file that cannot be read as a request trace
├── RecordingError       a file that cannot be read or written as a recording
└── BackendError         a device that cannot carry steps out, or no longer
    └── BackendUnavailable   a package or a device that is not there
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class KvtuiError(Exception):
    """A mistake the user can put right: `message` says what is wrong, `hint` what to do."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class ConfigError(KvtuiError):
    """An option that is unknown, out of range or in contradiction to another one."""


class DoesNotFit(ConfigError):
    """Model weights and activations leave no memory for KV blocks on this GPU."""


class FileIsThere(ConfigError):
    """Nothing is overwritten without being asked for: `by_force`, if the command has that option."""

    def __init__(self, path: Path | str, *, by_force: bool = False) -> None:
        remedy = (
            "choose another name, or --force replaces it" if by_force else "choose another name or remove it"
        )
        super().__init__(f"{path} exists and is not overwritten", hint=remedy)


class TraceError(KvtuiError):
    """A trace that cannot be read; `path` and `line` (1-based) say where."""

    def __init__(
        self, message: str, *, path: str | None = None, line: int | None = None, hint: str | None = None
    ) -> None:
        where = f"{path}:{line}: " if path and line else f"{path}: " if path else ""
        super().__init__(where + message, hint=hint)
        self.path = path
        self.line = line


class RecordingError(KvtuiError):
    """A recording that cannot be read or written."""


class BackendError(KvtuiError):
    """The device has no room, or failed."""


class BackendUnavailable(BackendError):
    """A package is not installed, or there is no such device."""
