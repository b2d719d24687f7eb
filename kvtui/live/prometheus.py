"""Reads the Prometheus text format: https://prometheus.io/docs/instrumenting/exposition_formats/.

Reads what is there and nothing else: a line that cannot be read is left out, and so is the last one where the
page breaks off in it, because half a number is another number.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

_LINE: Final = re.compile(
    r'([a-zA-Z_:][\w:]*)[ \t]*(?:\{((?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]+(\S+)(?:[ \t]+(?:\S+|#.*))?\s*$'
)
_LABEL: Final = re.compile(r'([a-zA-Z_]\w*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_ESCAPE: Final = re.compile(r"\\(.)")


class Sample(NamedTuple):
    labels: Mapping[str, str]
    value: float


class Page:
    """The samples of one scrape, by name."""

    def __init__(self, samples: Mapping[str, list[Sample]], mark: int) -> None:
        self._samples = samples
        self.mark = mark  # differs, as good as always, where two pages do

    def __contains__(self, name: str) -> bool:
        return name in self._samples

    def get(self, *names: str) -> list[Sample]:
        """Samples of the first of these names that the page has; several names are one metric renamed."""
        return next((self._samples[name] for name in names if name in self._samples), [])

    def sum(self, *names: str) -> float | None:
        """Over all label sets; None where the page has none of the names."""
        samples = self.get(*names)
        return sum(sample.value for sample in samples) if samples else None

    def label(self, name: str, *names: str) -> str | None:
        """A label's value where all samples of a metric that have it agree."""
        values = {sample.labels[name] for sample in self.get(*names) if name in sample.labels}
        return values.pop() if len(values) == 1 else None


def parse(text: str, *, prefixes: tuple[str, ...]) -> Page:
    """The samples whose names begin with one of `prefixes`; the rest of a page is not looked at. Samples that
    are no finite number are left out."""
    samples: defaultdict[str, list[Sample]] = defaultdict(list)
    whole = text.split("\n")[:-1]  # behind the last line feed: nothing, or a line that was cut
    lines = [line for line in whole if line.startswith(prefixes)]
    for line in lines:
        found = _LINE.match(line)
        value = _number(found[3]) if found else None
        if found and value is not None:
            samples[found[1]].append(Sample(_labels(found[2] or ""), value))
    return Page(samples, hash(tuple(lines)))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _labels(text: str) -> dict[str, str]:
    return {key: _unescaped(value) for key, value in _LABEL.findall(text)}


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: "\n" if found[1] == "n" else found[1], text)
