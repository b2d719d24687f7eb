"""`kvtui trace convert`, `anonymise` and `synth`, as a user runs them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kvtui.cli.app import app
from kvtui.cli.traceoptions import LOADED
from kvtui.errors import ConfigError
from kvtui.traces import Wanted, load
from kvtui.traces.convert import FORMATS

CSV = "arrival_s,prompt_tokens,output_tokens,user\n0,100,9,ann\n1.5,200,9,bob\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requests.csv").write_text(CSV)
    return tmp_path


@pytest.mark.parametrize("name", ["requests.csv", "chat"])
def test_a_trace_where_a_command_should_be_is_answered_with_the_command(name: str) -> None:
    with pytest.raises(ConfigError) as wrong:
        app.main(["trace", name], standalone_mode=False)
    assert wrong.value.hint == f"kvtui trace info {name} says what it holds"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["trace", *arguments], catch_exceptions=False, standalone_mode=False)


def test_convert_by_name_and_back(folder: Path) -> None:
    assert (
        "2 requests written to new.jsonl.gz (mooncake)"
        in run("convert", "requests.csv", "new.jsonl.gz").stderr
    )
    assert load("new.jsonl.gz").format == "mooncake"
    assert run("convert", "new.jsonl.gz", "back.csv").exit_code == 0
    assert load("back.csv").arrival_ns.tolist() == [0, 1_500_000_000]


def test_convert_to_standard_output() -> None:
    result = run("convert", "requests.csv", "-", "--to", "burstgpt", "--limit", "1")
    assert result.stdout.splitlines()[1:] == ["0,,100,9,109,API log"]


def test_convert_tells_how_to_replay() -> None:
    assert (
        "replay: vllm bench serve --dataset-name timed_trace"
        in run("convert", "requests.csv", "r", "--to", "vllm").stderr
    )


def test_nothing_is_overwritten(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"requests\.csv exists"):
        run("convert", "requests.csv", "requests.csv")
    with pytest.raises(ConfigError, match="cannot be written"):
        run("convert", "requests.csv", "nowhere/a.csv")
    with pytest.raises(ConfigError, match="which format"):
        run("convert", "requests.csv", "a.parquet")
    assert (folder / "requests.csv").read_text() == CSV


def test_options_of_reading_hold_here() -> None:
    run("convert", "requests.csv", "a.csv", "--rate", "2", "--burstiness", "0.5", "--max-gap", "0.01")
    assert load("a.csv").arrival_ns.tolist() == [0, 10_000_000]
    run("convert", "requests.csv", "b.csv", "--start", "1", "--scale-rate", "2")
    assert load("b.csv").prompt.tolist() == [200]


def test_every_parameter_of_load_has_an_option() -> None:
    assert set(LOADED.values()) == set(Wanted.__annotations__) - {"seed"}


def test_bundled_workloads_convert_too() -> None:
    assert run("convert", "chat", "chat.jsonl", "--limit", "20").exit_code == 0
    assert len(load("chat.jsonl")) == 20


def test_anonymise_drops_names(folder: Path) -> None:
    (folder / "spans.jsonl").write_text(
        '{"timestamp": 5, "input": "secret words", "output": "more", "session_id": "ann"}\n'
    )
    assert run("anonymise", "spans.jsonl", "out.jsonl").exit_code == 0
    text = (folder / "out.jsonl").read_text()
    assert not re.search("secret|more|ann|spans", text)
    assert load("out.jsonl").prompt.tolist() == [2]


def test_synth_says_how_close_it_came() -> None:
    result = run("synth", "out.jsonl", "--prompt", "p50=800,p99=8000", "--output", "200", "--rate", "4")
    assert len(load("out.jsonl")) == 1000
    assert re.search(r"requests a second  wanted +4  got +\d\.\d+  \([+-]\d+\.\d%\)", result.stderr)
    assert "prompt p99" in result.stderr
    with pytest.raises(ConfigError, match="lengths are missing"):
        run("synth", "other.jsonl", "--prompt", "5")


@pytest.mark.parametrize("command", ["convert", "anonymise", "synth"])
def test_examples_of_the_help_work_as_printed(folder: Path, command: str) -> None:
    (folder / "trace.jsonl").write_text(
        '{"timestamp": 0, "input_length": 40, "output_length": 9, "hash_ids": [1]}\n'
    )
    (folder / "logs").mkdir()
    (folder / "logs" / "a.csv").write_text(CSV)
    (folder / "spend_logs.json").write_text(
        '[{"startTime": "2026-01-01T00:00:00Z", "prompt_tokens": 5, "completion_tokens": 6}]'
    )
    shown = [text.strip() for text in run(command, "--help").stdout.splitlines() if "kvtui trace" in text]
    examples = [shlex.split(text)[2:] for text in shown if not text.startswith("Usage")]
    assert examples
    for place, arguments in enumerate(examples):
        target = 1 if command == "synth" else 2
        arguments[target] = f"{place}-{arguments[target]}"
        assert run(*arguments).exit_code == 0
        assert len(load(arguments[target]))


def test_formats_offered_are_those_there_are() -> None:
    from kvtui.cli.traces import FORMATS as offered

    assert set(offered) == set(FORMATS)


@pytest.mark.parametrize("to", [name for name, format in FORMATS.items() if format.identity])
def test_the_same_trace_in_another_format_runs_the_same(to: str) -> None:
    """A trace whose prompts share whole blocks: every lane must do exactly what it did."""
    lengths = "--prompt 300 --output p50=80,p99=200 --prefix-groups 3 --prefix-tokens 160"
    run("synth", "one.jsonl", *f"{lengths} --rate 8 --requests 60".split())
    run("convert", "one.jsonl", "other.jsonl", "--to", to)
    first, second = (lanes(name) for name in ("one.jsonl", "other.jsonl"))
    assert first == second
    assert any(lane["prefix"] for lane in first)


def lanes(name: str) -> list[dict[str, Any]]:
    command = [
        "run",
        name,
        "--headless",
        "--json",
        "--blocks",
        "300",
        "--lane",
        "paged",
        "--lane",
        "contiguous",
    ]
    found: list[dict[str, Any]] = json.loads(CliRunner().invoke(app, command, standalone_mode=False).stdout)[
        "lanes"
    ]
    return found


def test_the_formats_that_are_read_are_listed() -> None:
    told = CliRunner().invoke(app, ["trace", "formats"]).output
    assert all(name in told for name in ("Azure", "BurstGPT", "Mooncake", "Qwen-Bailian", "prompt_tokens"))
