"""The words of the screen, one table a language: captions, tour, labels. Nothing but text stands there.

Each situation has forms for less and less room: wide, narrow and a single line of at most 58 cells. The
longest that fits is shown. Fields in braces are filled and coloured by who looks a sentence up.
"""

from __future__ import annotations

import os
import re
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


def word(english: str, language: str) -> str:
    """A label of the main screen; as it is where the language has none for it."""
    if language != JAPANESE:
        return english
    from kvtui.tui.view.words.labels_ja import LABELS

    return LABELS.get(english, english)


def phrase(english: str, language: str) -> str:
    """What is said in parts with numbers in them, set apart by a comma and a blank; parts that the language
    has no words for stay as they are."""
    if language != JAPANESE:
        return english
    from kvtui.tui.view.words.labels_ja import PHRASES

    said = []
    for part in english.split(", "):
        found = ((re.fullmatch(pattern, part), words) for pattern, words in PHRASES.items())
        said.append(next((match.expand(words) for match, words in found if match), part))
    return "、".join(said)


def language_of(env: Mapping[str, str] = os.environ) -> str:
    """The language that the locale asks for, English where it is none of ours."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := env.get(name):
            return JAPANESE if value.startswith("ja") else ENGLISH
    return ENGLISH
