"""Names that are nearly right, and names from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kvtui.cli.app import app
from kvtui.errors import ConfigError


def said(*args: str) -> str:
    return CliRunner().invoke(app, args, catch_exceptions=False).output


def hint(*args: str) -> str:
    with pytest.raises(ConfigError) as wrong:
        app.main(list(args), standalone_mode=False)
    return str(wrong.value.hint)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["run"], "run is a command: kvtui run --help"),
        (["trace", "info"], "trace is a command: kvtui trace info --help"),
        (["chat"], "chat is a workload: kvtui trace info chat"),
    ],
)
def test_help_is_asked_for_what_is_no_topic(words: list[str], answer: str) -> None:
    assert hint("help", *words) == answer


def test_a_model_by_its_name_on_the_hub_or_its_file(tmp_path: Path) -> None:
    assert said("models", "meta-llama/Llama-3.1-8B-Instruct") == said("models", "llama-3.1-8b")
    shape = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
    config = tmp_path / "config.json"
    config.write_text(json.dumps(shape | {"model_type": "llama", "vocab_size": 1000}))
    assert "read from a config.json" in said("models", str(config))


def test_a_model_that_is_not_known_says_what_to_do() -> None:
    for command in (["models"], ["capacity", "--model"]):
        told = hint(*command, "Qwen/Qwen9-8B")
        assert "give the path of its config.json" in told
        assert told.endswith("https://huggingface.co/Qwen/Qwen9-8B/raw/main/config.json")
    assert hint("models", "qwen9-8b").startswith("did you mean")


def test_a_gpu_by_another_name_with_what_is_known_of_its_pools() -> None:
    assert said("gpus", "H100-80GB-SXM") == said("gpus", "h100-sxm")
    assert "servers with this GPU" in said("gpus", "h100-sxm")
    assert "servers with other GPUs" in said("gpus", "l4")
