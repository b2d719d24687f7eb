"""What recordings tell by name, whichever release wrote them: described fields and kinds of events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any, Final, TypeVar

from kvtui.errors import RecordingError
from kvtui.frames.chronicle import KINDS
from kvtui.frames.frame import EventKind

T = TypeVar("T")
_KNOWN: Final = {kind.value: kind for kind in KINDS}


def described(cls: type[T], told: Mapping[str, Any], path: object) -> T:
    """The dataclass `cls` from what is told of its fields: others are passed over, missing ones have their
    defaults.

    Raises:
        RecordingError: a field is missing that has no default.
    """
    known = {field.name: field for field in fields(cls)}  # type: ignore[arg-type]
    missing = [
        name
        for name, field in known.items()
        if name not in told and field.default is MISSING and field.default_factory is MISSING
    ]
    if missing:
        raise RecordingError(
            f"{path} does not tell {', '.join(missing)} of its {cls.__name__}",
            hint="use the kvtui that made it",
        )
    return cls(**{name: told[name] for name in known if name in told})


def kind_names() -> list[str]:
    """Names of the kinds of events, in the order of the numbers that stand for them in a file."""
    return [kind.value for kind in KINDS]


def kinds_of(names: Sequence[str] | None) -> tuple[EventKind | None, ...]:
    """The kinds that numbers of a file stand for, None where this release has no such kind. Files without
    names were written before any kind was given another number."""
    return KINDS if names is None else tuple(_KNOWN.get(name) for name in names)
