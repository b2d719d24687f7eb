"""How a trace is to be read, and what a file calls its columns."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.errors import ConfigError
from kvtui.traces.timeunits import MS, NS, US, S

TIME_UNITS = {"s": S, "ms": MS, "us": US, "ns": NS}
MOST_TOKENS = 2**31 - 1  # a larger count is a mistake, not a request


@dataclass(frozen=True, slots=True)
class Options:
    """How to read: at most `limit` requests behind the first `skip`, the block size, failed rows too.

    `keep_cached` keeps answers out of a gateway's own cache, `run` is the run to read where a file holds
    several, `time_unit` what bare times count where the format leaves room for doubt, `delta` says that
    prompts of later turns lack their history, `tokenizer` is the file of one that counts the tokens of text.
    """

    limit: int | None = None
    skip: int = 0
    block_size: int | None = None
    keep_failed: bool = False
    keep_cached: bool = False
    run: int | None = None
    time_unit: str | None = None
    delta: bool = False
    tokenizer: str | None = None

    @property
    def unit(self) -> int | None:
        """Nanoseconds in a unit of time, where one is given."""
        return None if self.time_unit is None else TIME_UNITS[self.time_unit]

    def __post_init__(self) -> None:
        """Raises ConfigError for values that make no sense."""
        least = {"limit": 1, "skip": 0, "block_size": 1, "run": 1}
        for option, smallest in least.items():
            value = getattr(self, option)
            if value is not None and not smallest <= value <= MOST_TOKENS:
                name = option.replace("_", " ")
                raise ConfigError(
                    f"the {name} of a trace cannot be {value}.", hint=f"give {smallest} or more"
                )
        if self.time_unit not in (None, *TIME_UNITS):
            known = ", ".join(TIME_UNITS)
            raise ConfigError(f"'{self.time_unit}' is no unit of time.", hint=f"give one of {known}")


@dataclass(frozen=True, slots=True)
class Names:
    """What the file calls its columns, for messages; `time` is None where it has no arrivals."""

    time: str | None
    prompt: str
    output: str
