"""The report about an error of our own: where it goes, and what is in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from kvtui.tui import crash


def fault() -> Exception:
    try:
        prompt = "a value of the run"
        raise LookupError(f"{len(prompt)} of something")
    except LookupError as error:
        return error


def test_no_report_overwrites_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sentences = {crash.report(fault()) for _ in range(3)}
    assert len(sentences) == len(list(tmp_path.iterdir())) == 3
    for path in tmp_path.iterdir():
        assert "LookupError: 18 of something" in path.read_text()
        assert "a value of the run" not in path.read_text()


def test_where_the_current_folder_cannot_be_written_it_goes_to_the_temporary_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "cwd", lambda: tmp_path / "gone")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    assert str(tmp_path) in crash.report(fault())
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "gone"))
    assert crash.report(fault()).endswith("no report could be written")
