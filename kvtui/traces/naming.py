"""Names in common use for the columns of arrivals, prompt tokens and output tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kvtui.traces.timeunits import MS, NS, US, S


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Names as `_bare` makes them, the preferred ones first.
_PROMPT = _names(
    "prompttokens inputtokens inputlength promptlength promptlen inputlen numprefilltokens prefilltokens "
    "numprompttokens contexttokens contextlength inputsequencelength isl inputtoks promptsize prefill prompt "
    "input"
)
_OUTPUT = _names(
    "completiontokens outputtokens outputlength outputlen generatedtokens generationtokens numdecodetokens "
    "decodetokens numoutputtokens responsetokens responselength completionlength outputsequencelength osl "
    "outputtoks tokensize decode output completion generated"
)
_ARRIVAL = _names(
    "arrival arrivaltime arrivaltimestamp arrivedat timestamp starttime requesttime requeststart launchtime "
    "createdat created datetime time date ts at t"
)
_UNITS = {"": None, "ns": NS, "us": US, "ms": MS, "s": S, "sec": S, "seconds": S}


class Found(NamedTuple):
    """The columns to read, and the unit of time that the arrival column has in its name (ns).

    A column inside an object is named with its path, as in usage.prompt_tokens.
    """

    arrival: str | None
    prompt: str
    output: str
    unit: int | None

    @property
    def told(self) -> str:
        """Where numbers were read from, as a sentence."""
        arrival = f", arrival from '{self.arrival}'" if self.arrival else ""
        return f"prompt tokens from '{self.prompt}', output tokens from '{self.output}'{arrival}"


def find(columns: Sequence[str]) -> Found | None:
    """The columns whose names are known; None without both kinds of tokens."""
    inner = {_bare(column.rpartition(".")[2]): column for column in reversed(columns)}
    bare = inner | {_bare(column): column for column in reversed(columns)}
    prompt, output = _first(bare, _PROMPT), _first(bare, _OUTPUT)
    if prompt is None or output is None:
        return None
    for suffix, unit in _UNITS.items():
        if arrival := _first(bare, [alias + suffix for alias in _ARRIVAL]):
            return Found(arrival, prompt, output, unit)
    return Found(None, prompt, output, None)


def _first(bare: dict[str, str], aliases: Sequence[str]) -> str | None:
    return next((bare[alias] for alias in aliases if alias in bare), None)


def _bare(column: str) -> str:
    """A column's name without capitals, blanks and punctuation."""
    return re.sub(r"[\W_]", "", column.lower())
