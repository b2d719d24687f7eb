"""Which prompts begin alike, without their text.

A prompt is cut into units from its start; each unit's id stands for everything up to its end. Ids are numbers
in the order of first sight; behind them stand hashes with a key that is drawn at the start and never leaves
the process.
"""

from __future__ import annotations

import json
import secrets
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

    def __init__(self, *, characters: float = CHARACTERS, key: bytes | None = None, most: int = MOST) -> None:
        self._stride = max(1, round(UNIT * characters))
        self._key = secrets.token_bytes(32) if key is None else key
        self._ids: dict[bytes, int] = {}
        self._next = 0
        self._most = most

    def units(self, body: Mapping[str, Any]) -> list[int]:
        """Ids of the whole units of a request's prompt, from its start."""
        tokens = token_ids(body)
        if tokens is not None:
            pieces = [tokens[at : at + UNIT] for at in range(0, len(tokens) - UNIT + 1, UNIT)]
            return self._chain(",".join(map(str, piece)).encode() for piece in pieces)
        text = leading_text(body)
        size = self._stride
        return self._chain(
            text[at : at + size].encode("utf-8", "surrogatepass")
            for at in range(0, len(text) - size + 1, size)
        )

    def secret(self, text: str) -> str:
        """A name that tells two texts apart and nothing else."""
        return blake2b(text.encode("utf-8", "surrogatepass"), key=self._key, digest_size=6).hexdigest()

    def _chain(self, pieces: Iterator[bytes]) -> list[int]:
        before, ids = b"", []
        for piece in pieces:
            before = blake2b(before + piece, key=self._key, digest_size=16).digest()
            ids.append(self._id(before))
        return ids

    def _id(self, digest: bytes) -> int:
        known = self._ids.pop(digest, None)
        if known is None:
            known = self._next
            self._next += 1
            if len(self._ids) >= self._most:
                del self._ids[next(iter(self._ids))]  # the one not seen for longest
        self._ids[digest] = known
        return known


def runs(ids: Sequence[int]) -> Runs:
    """Ids as runs of consecutive ones."""
    cuts = [0, *(at for at, (a, b) in enumerate(pairwise(ids), start=1) if b != a + 1), len(ids)]
    return [[ids[start], end - start] for start, end in pairwise(cuts) if end > start]


def token_ids(body: Mapping[str, Any]) -> list[int] | None:
    """The prompt where it was sent as token ids."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and prompt and all(type(token) is int for token in prompt):
        return prompt
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
