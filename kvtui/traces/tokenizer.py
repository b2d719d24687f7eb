"""Tokens of a text: counted by a tokenizer that the user names, else estimated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtui.errors import ConfigError
from kvtui.traces.options import Options
from kvtui.traces.text import ESTIMATED, tokens_of


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """`cut` makes tokens of a text, comparable with each other; `said` tells how."""

    cut: Callable[[str], list[Any]]
    said: str
    estimated: bool


def tokenizer_of(options: Options) -> Tokenizer:
    """The tokenizer that the options name by the path of its tokenizer.json, or an estimate.

    Raises ConfigError where the file cannot be used, or the package `tokenizers` is not there to use it.
    """
    path = options.tokenizer
    if path is None:
        return Tokenizer(tokens_of, ESTIMATED, estimated=True)
    try:
        from tokenizers import Tokenizer as Loaded  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        hint = "install it with 'pip install tokenizers', or leave --tokenizer out for an estimate"
        raise ConfigError("exact token counts need the package 'tokenizers'.", hint=hint) from None
    try:
        loaded = Loaded.from_str(Path(path).read_text("utf-8"))
    except Exception as error:  # the package raises plain Exception for what it cannot read
        hint = "give the path of a tokenizer.json, as it lies beside the weights of a model"
        raise ConfigError(f"{path} is no tokenizer: {error}.", hint=hint) from None
    said = f"tokens counted with {path}; those that a chat template adds are not in the text"
    return Tokenizer(
        lambda text: list(loaded.encode(text, add_special_tokens=False).ids), said, estimated=False
    )
