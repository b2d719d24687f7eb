"""Tokens out of text where a trace has no counts: an estimate, and identity from the words themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kvtui.traces.chains import Chains
from kvtui.traces.columns import Columns
from kvtui.traces.workload import Ints

UNIT = 16  # tokens a unit of prefix identity
ESTIMATED = "~ tokens are estimated from the text, as words and parts of long words: no tokenizer was used"
IDENTIFIED = f"prompts share what text they have in common from the start, in units of {UNIT} tokens"

# Words of up to eight letters, numbers of up to three digits and any other sign are one token each: about
# what byte-pair vocabularies of 100,000 entries make of English. Scripts without blanks come out too low.
_TOKEN = re.compile(r"[^\W\d_]{1,8}\d?|\d{1,3}|[^\w\s]|_")


def tokens_of(text: str) -> list[str]:
    """The text cut into about as many pieces as a tokenizer would make of it."""
    return _TOKEN.findall(text)


def words_of(content: object) -> str:
    """The text in the content of a message: a string, or a list of parts of which some have text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(words_of(part) for part in content)
    if isinstance(content, dict):
        return words_of(content.get("text") or content.get("content"))
    return ""


def messages_of(value: object) -> str | None:
    """All text of a list of messages, of one prompt, or of several; None where there is none of them."""
    if isinstance(value, list):
        return "\n".join(words_of(item) for item in value)
    return value if isinstance(value, str) else None


class TokenChains:
    """Prefix identity of token sequences, given as whatever compares equal for equal tokens."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}
        self._ids: list[Ints] = []

    def add(self, tokens: Sequence[object]) -> None:
        """Take the tokens of one row, prompt first; those behind its last whole unit stay its own."""
        known, prefix, ids = self._known, -1, []
        for start in range(0, len(tokens) - UNIT + 1, UNIT):
            prefix = known.setdefault((prefix, *tokens[start : start + UNIT]), len(known))
            ids.append(prefix)
        self._ids.append(np.array(ids, np.int64))

    def chains(self, columns: Columns) -> Chains | None:
        """For requests in order of arrival; None where no row has a whole unit."""
        parts = [self._ids[place] for place in columns.order]
        start = np.concatenate(([0], np.cumsum([len(part) for part in parts], dtype=np.int64)))
        if not start[-1]:
            return None
        reach = np.minimum(np.diff(start) * UNIT, columns.prompt + columns.output)
        return Chains(UNIT, np.concatenate(parts), start, reach)


def joined(parts: Iterable[Sequence[object]]) -> list[object]:
    """Token sequences one behind the other."""
    return [token for part in parts for token in part]
