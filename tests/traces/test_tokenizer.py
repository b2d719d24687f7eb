"""Tokens of text counted by a tokenizer that the user names."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from kvtui.errors import ConfigError
from tests.traces.conftest import Read
from tests.traces.test_tools import TALK


class Letters:
    """Stands for the package where it is not installed: one token a letter."""

    @classmethod
    def from_str(cls, text: str) -> Letters:
        if json.loads(text) != {"model": "letters"}:
            raise Exception("unknown model")  # as the package does
        return cls()

    def encode(self, text: str, *, add_special_tokens: bool) -> SimpleNamespace:
        assert not add_special_tokens
        return SimpleNamespace(ids=[ord(letter) for letter in text])


@pytest.fixture
def tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    package = ModuleType("tokenizers")
    package.Tokenizer = Letters  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tokenizers", package)
    path = tmp_path / "tokenizer.json"
    path.write_text('{"model": "letters"}')
    return str(path)


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        (json.dumps(TALK), 12),
        ('{"timestamp": 1, "input": "twelve signs", "output": "c", "session_id": "s"}', 12),
        ('{"timestamp": 1, "text_input": "twelve signs", "output_length": 5}', 12),
        ('{"timestamp": 1, "requests": [{"prompt": "twelve signs", "output_length": 5}]}', 12),
        ('{"custom_id": "a", "body": {"prompt": "twelve signs", "max_tokens": 5}}', 12),
    ],
)
def test_tokens_are_counted(read: Read, tokenizer: str, text: str, prompt: int) -> None:
    workload = read(text, tokenizer=tokenizer)
    assert workload.prompt[0] == prompt
    assert not workload.estimated
    assert any(f"tokens counted with {tokenizer}" in sentence for sentence in workload.assumed)


def test_files_that_are_no_tokenizer(read: Read, tokenizer: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    for name in ("other.json", "missing.json"):
        with pytest.raises(ConfigError, match=f"{name} is no tokenizer"):
            read(json.dumps(TALK), tokenizer=str(tmp_path / name))


def test_the_package_may_be_missing(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ConfigError, match="need the package 'tokenizers'") as caught:
        read(json.dumps(TALK), tokenizer="x.json")
    assert "pip install" in (caught.value.hint or "")
