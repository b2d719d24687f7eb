"""What a vLLM server says about its KV memory when it starts, in the wordings of all its releases.

A line of the log is worth more than any estimate. Several ranks each say theirs and the least counts; of
several starts in one file the last one counts.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass, field

from kvtui.errors import ConfigError

_UNITS = {
    "B": 1,
    "KIB": 2**10,
    "MIB": 2**20,
    "GIB": 2**30,
    "TIB": 2**40,
    "KB": 2**10,
    "MB": 2**20,
    "GB": 2**30,
}
_NUMBER = r"([\d,]{1,40})"  # more digits than any pool has
_SIZE = r"(\d{1,40}(?:\.\d+)?)\s*([KMGT]?i?B)\b"
_START = re.compile(r"Initializing (?:a V1|a V0|an) LLM engine|vLLM API server version", re.I)
_COUNTS: dict[str, tuple[str, ...]] = {
    "blocks": (
        rf"# (?:GPU|cuda|CUDA|HPU|TPU|XPU|rocm) blocks:\s*{_NUMBER}",
        rf"num_gpu_blocks[\"']?(?: is|:|=| =)\s*:?\s*[\"']?{_NUMBER}(?! with)",
    ),
    "override": (rf"num_gpu_blocks_override=\s*{_NUMBER}", rf"--num-gpu-blocks-override[ =]{_NUMBER}"),
    "tokens": (
        rf"(?:GPU|CPU|HPU|TPU) KV cache size:\s*{_NUMBER}\s*tokens",
        rf"max_total_num_tokens=\s*{_NUMBER}",
    ),
    "block_size": (r"[\s,(']block_size['\"]?[=:]\s*(\d+)", r"attention block size to (\d+) tokens"),
}
_SIZES: dict[str, tuple[str, ...]] = {
    "kv_bytes": (
        rf"Available KV cache memory:\s*{_SIZE}",
        rf"reserved for KV Cache is\s*{_SIZE}",
        rf"kv_cache_size=\s*{_SIZE}",
        rf"(?:GPU )?KV cache memory(?: size)?:\s*{_SIZE}",
    ),
    "weights": (
        rf"Model loading took\s*{_SIZE}",
        rf"Loading (?:model )?weights took\s*{_SIZE}",
        rf"model weights take\s*{_SIZE}",
    ),
    "activations": (rf"PyTorch activation peak memory takes\s*{_SIZE}",),
}
_ROUNDED = 0.01  # share by which bytes may be off that a log gives with two digits
_CONCURRENCY = re.compile(rf"Maximum concurrency for {_NUMBER} tokens per request:\s*([\d.]+)x")


@dataclass(slots=True)
class ServerLog:
    """What one start said; None where it did not. `blocks` counts the null block of vLLM V1 in."""

    blocks: int | None = None
    override: int | None = None
    tokens: int | None = None
    kv_bytes: int | None = None
    block_size: int | None = None
    weights: int | None = None
    activations: int | None = None
    concurrency: tuple[int, float] | None = None  # of requests of so many tokens
    lines: list[str] = field(default_factory=list)  # the ones that were used

    @property
    def told(self) -> bool:
        """Whether it says how large the pool is."""
        return any(value is not None for value in (self.blocks, self.override, self.tokens, self.kv_bytes))

    def usable_blocks(self, *, block_size: int, block_bytes: int, tables: int = 1) -> int:
        """Blocks but the null block, of so many tokens (`self.block_size` where that is told) and bytes.

        The count of blocks goes before that of tokens, and tokens before bytes, which are rounded. `tables`
        are the block tables of a request, by kinds of layers; 0 where their number is not known. Releases
        up to 0.19 counted the tokens of several as `blocks // tables x block size`, newer ones in requests of
        the maximum length: only tokens that agree with the bytes are taken for the former.
        """
        blocks = self.override or self.blocks
        if blocks is None:
            blocks = self._estimated(block_size, block_bytes, tables)
        if blocks < 2:
            raise ConfigError("the log leaves no KV block to use", hint="is it the log of another model?")
        return blocks - 1

    def _estimated(self, size: int, block_bytes: int, tables: int) -> int:
        by_bytes = None if self.kv_bytes is None else self.kv_bytes // block_bytes
        if self.tokens is None:
            assert by_bytes is not None
            return by_bytes
        by_tokens = self.tokens // size * max(1, tables)
        if tables == 1:
            return by_tokens
        if by_bytes is None:
            self._refuse_longest()
            return by_tokens
        return by_tokens if tables and abs(by_tokens - by_bytes) <= _ROUNDED * by_bytes else by_bytes

    def _refuse_longest(self) -> None:
        """Raises ConfigError where the tokens are the concurrency times the maximum length."""
        length, requests = self.concurrency or (0, 0.0)
        assert self.tokens is not None
        if length and abs(self.tokens / length - requests) <= 0.01:
            raise ConfigError(
                f"the log counts {self.tokens:,} tokens in requests of {length:,}: with layers of several "
                "kinds that does not say how many blocks there are",
                hint='the line "Available KV cache memory" says it',
            )


def read(path: str) -> ServerLog:
    """The last start in a log, plain or gzip. Raises ConfigError where it says nothing about KV memory."""
    try:
        with (gzip.open if path.endswith(".gz") else open)(
            path, "rt", encoding="utf-8", errors="replace"
        ) as f:
            text = f.read()
    except (OSError, EOFError) as error:
        raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    log = parse(text)
    if not log.told:
        raise ConfigError(
            f"{path} says nothing about KV memory",
            hint='a line such as "GPU KV cache size: 230,528 tokens" or "# GPU blocks: 27896" is wanted',
        )
    return log


def parse(text: str) -> ServerLog:
    """The last start in the text of a log that says anything about its memory."""
    log, fresh = ServerLog(), False
    for line in text.splitlines():
        if _START.search(line):
            fresh = log.told  # what follows belongs to another start, as soon as it says something
        found = ServerLog()
        _take(found, line)
        if found.lines:
            if fresh and found.told:
                log, fresh = ServerLog(), False
            _take(log, line)
    return log


def _take(log: ServerLog, line: str) -> None:
    used = False
    for name, patterns in (_COUNTS | _SIZES).items():
        used |= _least(log, name, line, patterns)
    found = _CONCURRENCY.search(line)
    if found:
        log.concurrency, used = (int(found[1].replace(",", "")), float(found[2])), True
    if used:
        log.lines.append(line.strip())


def _least(log: ServerLog, name: str, line: str, patterns: tuple[str, ...]) -> bool:
    for pattern in patterns:
        found = re.search(pattern, line)
        if found:
            number, *unit = found.groups()
            number = int(float(number.replace(",", "")) * (_UNITS[unit[0].upper()] if unit else 1))
            before = getattr(log, name)
            setattr(log, name, number if before is None else min(before, number))
            return True
    return False
