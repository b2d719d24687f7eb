"""The smaller commands."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from kvtui import __version__
from kvtui.cli import output
from kvtui.cli.app import app
from kvtui.cli.catalogue import gpus, models
from kvtui.cli.check import check
from kvtui.cli.run import run
from kvtui.cli.sections import BEGINS
from kvtui.cli.story import COMMANDS
from kvtui.errors import ConfigError
from tests.cli.run import complaint, kvtui
from tests.shared import SHARED, needs_shared


def test_version_and_help() -> None:
    assert kvtui("--version").stdout == f"kvtui {__version__}\n"
    lines = kvtui("--help").stdout.splitlines()
    assert "bundled chat workload" in "\n".join(lines)
    assert len(lines) < 24, "a screen has a prompt, too"
    assert max(map(len, lines)) <= 80
    named = ", ".join(line[11:33].strip() for line in lines[9:]).split(", ")
    assert named == list(COMMANDS)
    for command in (["run"], ["trace", "info"], ["workloads"], ["decisions"]):
        assert f"kvtui {' '.join(command)}" in kvtui(*command, "--help").stdout


@pytest.mark.parametrize("command", [run, check])
def test_many_options_are_told_in_sections(command: click.Command) -> None:
    """Each once, below the title of its section; titles as they come."""
    with command.make_context(command.name, [], resilient_parsing=True) as context:
        text = command.get_help(context)
    told = re.findall(r"^  (?:-\w, )?(--[a-z0-9-]+)", text, re.MULTILINE)
    assert sorted(told) == sorted(
        next(opt for opt in param.opts if opt.startswith("--"))
        for param in command.get_params(context)
        if isinstance(param, click.Option)
    )
    titles = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    known = {param.name for param in command.params}
    begun = [title for name, title in BEGINS.items() if name in known]
    assert [title for title in titles if title != "Options"] == begun
    assert len(begun) > 6


@pytest.mark.parametrize("name", ["run", "tour", "replay", "attach", "check"])
def test_every_screen_is_drawn_as_asked_for(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    drawn = {"--theme", "--colors", "--language", "--ascii", "--no-mouse"}
    assert drawn <= {opt for param in command.params for opt in param.opts}


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("", {"run", "models", "chat"}),
        ("mo", {"models"}),
        ("ch", {"check", "chat"}),
        ("--head", {"--headless"}),
        ("chat --head", {"--headless"}),
        ("run ch", {"chat"}),
        ("swep --l", {"--lane"}),
        ("help pree", {"preemption"}),
        ("models gpt", {"gpt-oss-20b", "gpt-oss-120b"}),
        ("gpus h100-s", {"h100-sxm"}),
        ("advise --model gpt", {"gpt-oss-20b", "gpt-oss-120b"}),
        ("run --lane pa", {"paged"}),
    ],
)
def test_what_a_shell_offers(typed: str, offered: set[str]) -> None:
    *before, word = typed.split(" ")
    complete = ShellComplete(app, {}, "kvtui", "_KVTUI_COMPLETE")
    found = {item.value for item in complete.get_completions(before, word) if item.type == "plain"}
    assert offered <= found
    assert all(item.startswith(word) for item in found)


def test_workloads() -> None:
    rows = json.loads(kvtui("workloads", "--json").stdout)
    assert list(rows) == [
        "article",
        "chat",
        "code",
        "classify",
        "shared-prefix",
        "agent",
        "documents",
        "burst",
    ]
    table = kvtui("workloads").stdout
    assert all(name in table for name in rows)


def test_catalogue() -> None:
    assert "llama-3.1-8b" in kvtui("models").stdout
    assert "h100-sxm" in kvtui("gpus").stdout
    told = CliRunner().invoke(models, ["tinyllama-1.1b"]).stdout
    assert "config.json of TinyLlama/TinyLlama-1.1B-Chat-v1.0 on the Hugging Face hub" in told
    assert "22 full, 4 KV heads of 64" in told
    told = CliRunner().invoke(gpus, ["rtx4090"]).stdout
    assert "from memory, late 2025" in told
    assert re.search(r"^bandwidth +1,008,000,000,000 bytes/s$", told, re.MULTILINE)
    assert "0.34 to 0.7 (2026-03: RunPod on demand" in told
    assert isinstance(CliRunner().invoke(gpus, ["h100-sx"]).exception, ConfigError)


@needs_shared
def test_trace_info() -> None:
    file = str(SHARED / "traces" / "azure2023_conv_rows0000-1499.csv")
    facts = json.loads(kvtui("trace", "info", file, "--json").stdout)
    assert {"format", "requests", "left_out", "span_s", "cv", "prompt", "output", "hit_rate_ceiling"} <= set(
        facts
    )
    assert facts["requests"] == 1500
    assert facts["hit_rate_ceiling"] is None
    assert "1,500 requests" in kvtui("trace", "info", file).stdout


@needs_shared
@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_decisions_are_the_recorded_ones(tmp_path: Path, suffix: str) -> None:
    case, out = SHARED / "vllm-decisions" / "07-priority", tmp_path / f"out.{suffix}"
    args = ("decisions", str(case / "config.json"), str(case / "trace.jsonl"), "-o", str(out))
    assert kvtui(*args).returncode == 0
    compare = [
        sys.executable,
        str(case.parent / "compare_decisions.py"),
        str(case / "decisions.jsonl.gz"),
        str(out),
    ]
    done = subprocess.run([*compare, "--level", "all"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    opener = gzip.open if suffix.endswith("gz") else open
    with opener(out, "rt") as stream:
        assert sum(1 for _ in stream) == 312
    assert "not overwritten" in complaint(*args)


@pytest.mark.parametrize("command", [("capacity",), ("run", "article", "--headless"), ("sweep", "article")])
def test_a_wrong_field_of_a_model_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    file = tmp_path / "config.json"
    fields = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 32, "vocab_size": 1000}
    file.write_text(json.dumps(fields))
    said = complaint(*command, "--model", str(file), "--gpu", "h100-sxm")
    assert f"{file} has a field of the wrong kind: num_attention_heads is 32, not a whole number" in said


def test_what_cannot_be_written_at_last_is_named(tmp_path: Path) -> None:
    """A name that was free when a long command began."""
    page = tmp_path / "page.html"
    page.write_text("of another one")
    with pytest.raises(ConfigError, match=r"page\.html cannot be written: File exists"):
        output.write(page, "mine")
    assert page.read_text() == "of another one"
    output.write(page, "mine", force=True)
    assert page.read_text() == "mine"
