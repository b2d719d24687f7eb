"""What the user may bring to a reproduction: the real files in place of generators."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kvtui.errors import ConfigError
from kvtui.traces.published import OPENCHAT_LIMIT, Lengths, alpaca, openchat, pairs_of, sharegpt

SHAREGPT_FILE = "sharegpt_opt_lengths.csv"
ALPACA_FILE = "alpaca_opt_lengths.csv"
OPENCHAT_FILE = "sharegpt_8k_filtered_stats_llama2_tokenizer.csv"
DRAWN = "lengths drawn from published quantiles and moments."
FROM_FILE = "lengths from the file given."


@dataclass(frozen=True, slots=True)
class Settings:
    """`data` is a folder with files named as their publishers name them; None = generators only."""

    data: Path | None = None

    def __post_init__(self) -> None:
        if self.data is not None and not self.data.is_dir():
            raise ConfigError(f"{self.data} is no folder", hint="give the folder that holds the files")

    def file(self, name: str) -> Path | None:
        """The file of that name, where the user has it."""
        path = self.data / name if self.data is not None else None
        return path if path is not None and path.is_file() else None

    def sharegpt(self) -> tuple[Lengths, str]:
        """Lengths, and a sentence that says where they are from."""
        return self._lengths(SHAREGPT_FILE, sharegpt)

    def alpaca(self) -> tuple[Lengths, str]:
        """Lengths, and a sentence that says where they are from."""
        return self._lengths(ALPACA_FILE, alpaca)

    def openchat(self) -> tuple[Lengths, str]:
        """Lengths, and a sentence that says where they are from."""
        path = self.file(OPENCHAT_FILE)
        if path is None:
            return openchat, DRAWN
        return pairs_of(path, limit=OPENCHAT_LIMIT, leading=False), FROM_FILE

    def _lengths(self, name: str, drawn: Lengths) -> tuple[Lengths, str]:
        path = self.file(name)
        return (drawn, DRAWN) if path is None else (pairs_of(path), FROM_FILE)
