"""Answers as they are printed: wrapped where a terminal is too narrow, as they are where a program reads."""

from __future__ import annotations

import shutil
import sys
from textwrap import wrap

import click

COLUMNS = "  "  # within a line: it is a row of a table, which stays whole
COMMAND = "$ "  # before what is to be copied into a shell, which stays whole too


def say(text: str) -> None:
    """Print an answer."""
    click.echo(fitted(text, width()))


def width() -> int | None:
    """Columns of the terminal that standard output is; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fitted(text: str, columns: int | None) -> str:
    """Sentences wrapped at words to so many columns, under their indent; tables and commands as they are."""
    if columns is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _parts(line, columns))


def _parts(line: str, columns: int) -> list[str]:
    words = line.lstrip(" ")
    if len(line) <= columns or COLUMNS in words or words.startswith(COMMAND):
        return [line]
    indent = " " * (len(line) - len(words))
    return wrap(
        words,
        max(columns, 20 + len(indent)),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def paragraphs(text: str) -> str:
    """Text of wrapped lines with each paragraph in one; indented lines and `See it:` stand by themselves."""
    lines: list[str] = []
    for line in text.split("\n"):
        alone = not line or line.startswith((" ", "See it:"))
        if alone or not lines or not lines[-1] or lines[-1].startswith(" "):
            lines.append(line)
        else:
            lines[-1] += f" {line}"
    return "\n".join(lines)


def ascii_wanted(*, asked: bool) -> bool:
    """Whether pictures are drawn with ASCII only: as asked for, or where standard output cannot do more."""
    from kvtui.tui.terminal import ascii_only

    return asked or ascii_only(sys.stdout)
