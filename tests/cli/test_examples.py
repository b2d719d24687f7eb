"""What help texts and README say to type works as printed: each text is a story, typed in a folder of a user.

What needs a server, a terminal, a GPU or minutes is only looked at: its command and options are there.
"""

from __future__ import annotations

import gzip
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from kvtui.cli.app import app
from kvtui.cli.story import COMMANDS
from tests.cli.sandbox import CASE, CONFIG, CSV, MOONCAKE
from tests.packaging.source import ROOT

NEEDS_MORE = re.compile(
    r"localhost|HOST|127\.0\.0\.1|server\.kvtui|^(tour|browse|attach|record)\b|--screen|torch|^demo$"
    r"|^reproduce$|fig2 --json|chat --record"
)
FENCED = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPENT = [
    {
        "request_id": "a",
        "startTime": "2026-01-02T03:04:05Z",
        "endTime": "2026-01-02T03:04:09Z",
        "prompt_tokens": 90,
        "completion_tokens": 20,
        "model": "m",
    }
]
STEP = "h100-sxm,llama-3.1-8b,1,decode,step,{batch},512,{ms}\n"
STEPS = "gpu,model,tp,phase,scope,batch_size,context_len,measured_ms\n" + "".join(
    STEP.format(batch=batch, ms=6 + batch / 40) for batch in (1, 2, 4, 8, 16, 32, 64)
)


def texts() -> Iterator[tuple[str, str]]:
    """Every help text of a command, every block of shell commands of the README."""
    group = app.get_command(click.Context(app), "trace")
    assert isinstance(group, click.Group)
    commands = {f"trace {name}": command for name, command in group.commands.items()}
    commands |= {name: app.get_command(click.Context(app), name) for name in COMMANDS if name != "trace"}
    for name, command in commands.items():
        yield f"kvtui {name} --help", command.help or ""
    for block in FENCED.findall((ROOT / "README.md").read_text("utf-8")):
        yield f"README: {block[:50].splitlines()[0]}", block


def examples(text: str) -> list[list[str]]:
    """The words behind `kvtui` of each line that begins with it; a line may go on behind a backslash."""
    lines = text.replace("\\\n", " ").splitlines()
    typed = [line.strip() for line in lines if re.match(r"\s*kvtui( |$)", line)]
    return [shlex.split(line, comments=True)[1:] for line in typed]


STORIES = {title: typed for title, text in texts() if (typed := examples(text))}


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("recorded")
    words = ["run", "chat", "--limit", "6", "--headless", "--record", str(folder / "run.kvtui")]
    assert CliRunner().invoke(app, words).exit_code == 0
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def furnish(folder: Path, *, recordings: dict[str, bytes], case: bool) -> None:
    """The files that examples name."""
    for name in ("my-trace.csv", "trace.csv", "requests.csv"):
        (folder / name).write_text(CSV)
    for name in ("trace.jsonl", "conversation_trace.jsonl"):
        (folder / name).write_text(MOONCAKE)
    (folder / "requests.jsonl.gz").write_bytes(gzip.compress(MOONCAKE.encode()))
    for name in ("logs", "traces"):
        (folder / name).mkdir()
        (folder / name / "day.jsonl").write_text(MOONCAKE)
    (folder / "spend_logs.json").write_text(json.dumps(SPENT))
    (folder / "vllm.log").write_text("INFO 01-01 GPU KV cache size: 130,528 tokens\n")
    (folder / "grid.toml").write_text("block_size = [16, 32]\n")
    for name in ("step_times.csv", "mine.csv"):
        (folder / name).write_text(STEPS)
    (folder / "config.json").write_text(
        json.dumps({"num_gpu_blocks": 9, "block_size": 4} if case else CONFIG)
    )
    if case:
        (folder / "trace.jsonl").write_text(json.dumps(CASE) + "\n")
    for name, data in recordings.items():
        (folder / name).write_bytes(data)


def test_every_command_has_an_example_of_itself() -> None:
    for title, text in texts():
        if title.startswith("kvtui "):
            command = title.split()[1:-1]
            assert any(words[: len(command)] == command for words in examples(text)), title


@pytest.mark.parametrize("title", STORIES)
def test_it_works_as_printed(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recordings: dict[str, bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.sleep", lambda _: None)  # --plain waits as long as it is told
    typed = STORIES[title]
    here = [" ".join(words) for words in typed if not NEEDS_MORE.search(" ".join(words))]
    made_here = any("--record" in line for line in here)
    furnish(
        tmp_path,
        recordings={} if made_here else recordings,
        case=any(words[:1] == ["decisions"] for words in typed),
    )
    for words in typed:
        line = " ".join(words)
        if NEEDS_MORE.search(line):
            looked_at(words)
        else:
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, (line, done.output, done.exception)


def looked_at(words: list[str]) -> None:
    """Fails where a command or an option is not there."""
    with app.make_context("kvtui", list(words)) as context:
        rest = [*context._protected_args, *context.args]
        name, command, rest = app.resolve_command(context, rest)
        assert command is not None
        with command.make_context(name, rest, parent=context):
            pass
