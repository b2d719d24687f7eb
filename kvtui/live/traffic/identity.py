"""Which prompts begin alike, without their text.

A prompt is cut into units from its start; each unit's id stands for everything up to its end. Ids are numbers
in the order of first sight; behind them stand Python's own hashes, whose key is drawn when a process starts
(SipHash, 64 bits): two of a million prefixes are taken for one in one of ten million recordings.
"""

from __future__ import annotations

import json
import secrets
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, Final

UNIT: Final = 16  # tokens a unit
CHARACTERS: Final = 4.0  # a token: usual for English prose
MOST: Final = 1_000_000  # ids that are remembered

Runs = list[list[int]]  # [first id, how many that follow on each other]


class Prefixes:
    """Ids of the units of prompts. Where a prompt is text, `characters` of it are taken for a token."""

    def __init__(self, *, characters: float = CHARACTERS, most: int = MOST) -> None:
        self._stride = max(1, round(UNIT * characters))
        self._key = secrets.token_bytes(32)
        self._ids: OrderedDict[int, int] = OrderedDict()  # whose oldest is found at once
        self._next = 0
        self._most = most

    def units(self, body: Mapping[str, Any]) -> Iterator[int]:
        """Ids of the whole units of a request's prompt, from its start."""
        tokens = token_ids(body)
        if tokens is not None:
            pieces = (tokens[at : at + UNIT].tobytes() for at in range(0, len(tokens) - UNIT + 1, UNIT))
            return self._chain(pieces)
        text = leading_text(body)
        size = self._stride
        return self._chain(text[at : at + size] for at in range(0, len(text) - size + 1, size))

    def secret(self, text: str) -> str:
        """A name that tells two texts apart and nothing else."""
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=6).hexdigest()

    def _chain(self, pieces: Iterator[str | bytes]) -> Iterator[int]:
        before = 0
        for piece in pieces:
            before = hash((before, piece))
            yield self._id(before)

    def _id(self, prefix: int) -> int:
        known = self._ids.pop(prefix, None)
        if known is None:
            known = self._next
            self._next += 1
            if len(self._ids) >= self._most:
                self._ids.popitem(last=False)  # the one not seen for longest
        self._ids[prefix] = known
        return known


def runs(ids: Sequence[int]) -> Runs:
    """Ids as runs of consecutive ones."""
    cuts = [0, *(at for at, (a, b) in enumerate(pairwise(ids), start=1) if b != a + 1), len(ids)]
    return [[ids[start], end - start] for start, end in pairwise(cuts) if end > start]


def token_ids(body: Mapping[str, Any]) -> array[int] | None:
    """The prompt where it was sent as token ids."""
    prompt = body.get("prompt")
    if not isinstance(prompt, list) or not prompt:
        return None
    try:
        return array("q", prompt)
    except (TypeError, OverflowError):
        return None


def leading_text(body: Mapping[str, Any]) -> str:
    """What the prompt begins with: tools, then messages in their order; chat templates put them so."""
    prompt = body.get("prompt", body.get("input"))
    if isinstance(prompt, str):
        return prompt
    messages = body.get("messages", prompt)
    parts = [_written(body["tools"])] if body.get("tools") else []
    if isinstance(messages, list):
        for message in messages:
            fields = message if isinstance(message, dict) else {"content": message}
            content = fields.get("content")
            rest = {key: value for key, value in fields.items() if key not in ("role", "content")}
            parts += [str(fields.get("role", "")), content if isinstance(content, str) else _written(content)]
            parts += [_written(rest)] if rest else []
    return "\x00".join(parts)


def _written(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
