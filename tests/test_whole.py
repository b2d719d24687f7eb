"""A file is written whole or not at all, and an old one is there until the new one is."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from kvtui import whole
from kvtui.cli.output import opened
from kvtui.errors import ConfigError

BAD = "x" * 100_000 + "\ud800"  # cannot be written, which shows late


@pytest.mark.parametrize("force", [False, True])
def test_what_cannot_be_written_changes_nothing(tmp_path: Path, force: bool) -> None:
    old = tmp_path / "old.html"
    old.write_text("mine")
    for path in (old, tmp_path / "new.html"):
        with pytest.raises((FileExistsError, UnicodeEncodeError)):
            whole.write(path, BAD, force=force)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("old.html", "mine")]


def test_force_replaces_what_a_link_names(tmp_path: Path) -> None:
    old, link = tmp_path / "old.html", tmp_path / "link.html"
    old.write_text("mine")
    old.chmod(0o640)
    link.symlink_to(old)
    whole.write(link, "new", force=True)
    assert (old.read_text(), link.is_symlink(), old.stat().st_mode & 0o777) == ("new", True, 0o640)
    with pytest.raises(IsADirectoryError):
        whole.write(tmp_path, "new", force=True)
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.gz"])
def test_a_full_disk_leaves_no_part(tmp_path: Path, name: str) -> None:
    def fill() -> None:
        with opened(str(tmp_path / name)) as out:
            out.write("a line\n")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(ConfigError, match="cannot be written: No space"):
        fill()
    assert not list(tmp_path.iterdir())


def test_what_a_killed_one_left_is_in_nobodys_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, left = tmp_path / "old.html", tmp_path / f".kvtui-{os.getpid()}.part"
    old.write_text("mine")
    left.write_text("half")
    whole.write(old, "new", force=True)
    assert (old.read_text(), left.read_text()) == ("new", "half")

    def refuse(path: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError):
        whole.write(old, "newer", force=True)
    assert old.read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 2


def test_beside_others_it_takes_the_next_name(tmp_path: Path) -> None:
    for name in ("a.txt", "a-2.txt", "a-3.txt"):
        assert whole.write_beside(tmp_path, "a", ".txt", name) == tmp_path / name
    assert [(tmp_path / name).read_text() for name in ("a.txt", "a-3.txt")] == ["a.txt", "a-3.txt"]
    with pytest.raises(UnicodeEncodeError):
        whole.write_beside(tmp_path, "a", ".txt", BAD)
    assert len(list(tmp_path.iterdir())) == 3
