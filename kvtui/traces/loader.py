"""What a loader is, and what it may look at to know its own files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from kvtui.traces.options import Options
from kvtui.traces.records import begins_json, records
from kvtui.traces.source import Source
from kvtui.traces.table import Table
from kvtui.traces.workload import Workload

_ENOUGH = 16  # records that show what the others look like


@dataclass(frozen=True, slots=True)
class Sample:
    """The first rows of a file: of a table with text values, of JSON with parsed ones."""

    tabular: bool
    columns: tuple[str, ...]  # of the header, or all keys of the records
    records: Sequence[dict[str, Any]]

    def has(self, *columns: str) -> bool:
        return set(columns) <= set(self.columns)

    def column(self, name: str) -> list[Any]:
        return [record.get(name) for record in self.records]


class Loader(Protocol):
    """Reads one format. A module with these four names is one."""

    @property
    def name(self) -> str:
        """Short, for lists."""
        ...

    @property
    def title(self) -> str:
        """What the format is, in a few words with its columns."""
        ...

    def matches(self, sample: Sample) -> bool:
        """Whether the file is of this format, by its columns or keys alone. No effect."""
        ...

    def read(self, source: Source, sample: Sample, options: Options) -> Workload:
        """The whole file. Raises TraceError where it cannot be replayed."""
        ...


def sample(source: Source) -> Sample:
    """Look at the first rows: of JSON where the text begins with a bracket, else of a table."""
    if begins_json(source):
        found = [record for _, record in islice(records(source), _ENOUGH) if record is not None]
        keys = dict.fromkeys(key for record in found for key in record)
        return Sample(False, tuple(keys), found)
    table = Table(source)
    return Sample(True, table.columns, table.rows(_ENOUGH))
