"""What a shell offers for a word that is not an option: traces, models, GPUs, lanes, topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Offer: TypeAlias = "list[CompletionItem]"


def traces(ctx: click.Context, param: click.Parameter | None, word: str) -> Offer:
    """Bundled workloads and files."""
    from kvtui.traces.synthetic import bundled

    return [*_words(bundled(), word), _files(word)]


def models(ctx: click.Context, param: click.Parameter, word: str) -> Offer:
    """Models of the catalogue, and files for a `config.json`."""
    from kvtui.hardware.catalogue import models as known

    return [*_words((model.id for model in known()), word), _files(word)]


def gpus(ctx: click.Context, param: click.Parameter, word: str) -> Offer:
    from kvtui.hardware.catalogue import gpus as known

    return _words((gpu.id for gpu in known()), word)


def lanes(ctx: click.Context, param: click.Parameter, word: str) -> Offer:
    from kvtui.comparison.lanes import MANAGERS

    return _words(MANAGERS, word)


def topics(ctx: click.Context, param: click.Parameter, word: str) -> Offer:
    from kvtui.cli.topics import topics as known

    return _words(known(), word)


def _words(words: Iterable[str], begun: str) -> Offer:
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in words if word.startswith(begun)]


def _files(begun: str) -> CompletionItem:
    from click.shell_completion import CompletionItem

    return CompletionItem(begun, type="file")
