"""Answers fit the terminal they are printed on."""

from __future__ import annotations

import re

import click
import pytest

from kvtui.cli.app import app
from kvtui.cli.printing import ascii_wanted, fitted, paragraphs
from kvtui.cli.story import COMMANDS
from kvtui.cli.topics import topics
from kvtui.cli.traces import trace

PROSE = "  the first token comes after 0.10 s, and each further one takes as long as the one before"
COMMAND = "  $ vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.92 --block-size 16"
TABLE = "name          requests  span s  prompt mean/p99  output mean/p99  hit ceiling  and more of it"


def test_sentences_are_wrapped_under_their_indent_and_tables_are_not() -> None:
    lines = fitted(f"{PROSE}\n{TABLE}\n\n{COMMAND}\nshort", 40).split("\n")
    assert all(line.startswith("  ") and len(line) <= 40 for line in lines[:-4])
    assert " ".join(line.strip() for line in lines[:-4]) == PROSE.strip()
    assert lines[-4:] == [TABLE, "", COMMAND, "short"]


def test_what_another_program_reads_is_not_wrapped() -> None:
    assert fitted(PROSE, None) == PROSE


@pytest.mark.parametrize("name", topics())
def test_a_topic_fits_80_columns(name: str) -> None:
    text = topics()[name][1]
    lines = fitted(paragraphs(text), 80).split("\n")
    assert [line for line in lines if len(line) > 80 and not re.match(r" *(See it:|--|kvtui)", line)] == []
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())


def test_no_help_of_a_command_is_cut() -> None:
    context = click.Context(app)
    commands = [app.get_command(context, name) for name in COMMANDS]
    for command in [*commands, *trace.commands.values()]:
        assert command is not None
        assert not command.get_short_help_str(limit=60).endswith("..."), command.name


def test_pictures_are_ascii_where_the_output_can_do_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    for encoding, plain in (("latin-1", True), ("utf-8", False)):
        monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding))
        assert ascii_wanted(asked=False) is plain
    assert ascii_wanted(asked=True)
