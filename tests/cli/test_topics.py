"""The topics of `kvtui help`: listed, explained, and their commands are commands that exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kvtui.cli.app import app
from kvtui.cli.run import run as run_command
from kvtui.cli.story import COMMANDS as KNOWN
from kvtui.cli.topics import topics
from kvtui.errors import ConfigError
from tests.cli.run import complaint

COMMANDS = re.findall(r"^See it: (kvtui .*)$", "\n".join(text for _, text in topics().values()), re.MULTILINE)


def said(*args: str) -> str:
    return CliRunner().invoke(app, args).output


def test_all_topics_are_listed_on_one_screen() -> None:
    listed = said("help").splitlines()
    assert [line.split()[0] for line in listed] == list(topics())
    assert len(listed) < 24
    assert max(map(len, listed)) <= 80


@pytest.mark.parametrize("name", topics())
def test_a_topic_is_short_and_fits(name: str) -> None:
    lines = said("help", name).splitlines()
    assert lines[0].startswith(f"{name}: ")
    assert 3 < len(lines) < 24
    assert max(map(len, lines)) <= 110


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_topics_can_be_run(command: str) -> None:
    words = shlex.split(command)[1:]
    words = words if words[0] not in KNOWN else words[1:]
    with run_command.make_context("kvtui run", words, resilient_parsing=False) as context:
        assert isinstance(context, click.Context)


def test_a_wrong_topic_is_answered_with_the_nearest() -> None:
    assert "did you mean preemption?" in complaint("help", "preemtion")
    assert "kvtui help latency speaks of it" in complaint("help", "ttft")
    assert "kvtui help waste speaks of it" in complaint("help", "holes"), "that speaks most of it"
    assert "lists the topics" in complaint("help", "zzz")


@pytest.mark.parametrize(
    ("asked", "topic"),
    [
        ("slot", "block"),
        ("hole", "waste"),
        ("goodput", "latency"),
        ("fp8", "kv-type"),
        ("draft", "speculation"),
    ],
)
def test_a_word_leads_to_the_topic_that_speaks_of_it(asked: str, topic: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        app.main(["help", *asked.split()], standalone_mode=False)
    assert wrong.value.message == f"there is no topic '{asked}'."
    assert wrong.value.hint == f"kvtui help {topic} speaks of it"


def test_a_topic_of_several_words_is_one() -> None:
    assert said("help", "prefix", "cache") == said("help", "prefix-cache")
    assert said("help", "KV", "type") == said("help", "kv-type")
    with pytest.raises(ConfigError, match="no topic 'GPU price'"):
        app.main(["help", "GPU", "price"], standalone_mode=False)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("hepl", "help"), ("swep", "sweep"), ("blok-sizes", "block-sizes"), ("chatt", "chat")],
)
def test_a_word_like_a_command_or_a_workload_is_no_lost_file(typed: str, meant: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        app.main([typed, "--json"], standalone_mode=False)
    assert typed in wrong.value.message
    assert wrong.value.hint == f"did you mean kvtui {meant}?"


def test_a_topic_without_help_before_it_is_no_lost_file() -> None:
    with pytest.raises(ConfigError) as wrong:
        app.main(["Waste"], standalone_mode=False)
    assert wrong.value.hint == "kvtui help waste explains it"


def test_what_may_be_a_trace_is_taken_for_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swep").touch()
    for typed in ("./hepl", "hepl.csv", "chat", "zzz", "-", "swep"):
        app.make_context("kvtui", [typed])
    with pytest.raises(ConfigError):
        app.make_context("kvtui", ["hepl"])
