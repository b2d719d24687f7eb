"""The words of the screen, one table a language: captions and the tour. Nothing but text stands there.

Each situation has forms for less and less room: wide, narrow and a single line of at most 58 cells. The
longest that fits is shown. Fields in braces are filled and coloured by who looks a sentence up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

ENGLISH: Final = "en"
JAPANESE: Final = "ja"
LANGUAGES: Final = (ENGLISH, JAPANESE)


class Say(NamedTuple):
    """A situation's sentences; each form has one text or several that start lines of their own."""

    wide: tuple[str, ...]
    narrow: tuple[str, ...] = ()
    line: str = ""


def say(key: str, language: str) -> Say:
    """What there is to say in a situation."""
    from kvtui.tui.view.words import en, ja

    return (ja if language == JAPANESE else en).CAPTIONS[key]


def language_of(env: Mapping[str, str] = os.environ) -> str:
    """The language that the locale asks for, English where it is none of ours."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := env.get(name):
            return JAPANESE if value.startswith("ja") else ENGLISH
    return ENGLISH
