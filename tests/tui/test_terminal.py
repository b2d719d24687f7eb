from __future__ import annotations

import io

import pytest

from kvtui.tui.terminal import (
    FPS,
    FPS_REMOTE,
    ascii_only,
    believe_the_terminal,
    colour_bits,
    colourless,
    tell_textual,
    terminal_problem,
    view_rate,
)


class Terminal(io.StringIO):
    def __init__(self, *, encoding: str = "utf-8", tty: bool = True) -> None:
        super().__init__()
        self._encoding = encoding
        self._tty = tty

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._tty


def problem(*, stdin: bool = True, stderr: bool = True, term: str = "xterm-256color") -> str | None:
    return terminal_problem(stdin=Terminal(tty=stdin), stderr=Terminal(tty=stderr), env={"TERM": term})


def test_a_terminal_is_no_problem() -> None:
    assert problem() is None
    assert problem(term="screen") is None


def test_what_is_missing_is_said() -> None:
    assert problem(stdin=False) == "standard input is not a terminal"
    assert problem(stderr=False) == "standard error is not a terminal"
    assert problem(term="dumb") == "the terminal cannot place text (TERM=dumb)"
    assert problem(term="") == "the terminal cannot place text (TERM=unset)"


@pytest.mark.parametrize(
    ("encoding", "plain"),
    [("utf-8", False), ("UTF8", False), ("ascii", True), ("latin-1", True), ("cp1252", True)],
)
def test_only_utf_8_has_the_characters(encoding: str, plain: bool) -> None:
    assert ascii_only(Terminal(encoding=encoding)) is plain


def test_an_exported_size_does_not_hide_the_real_one() -> None:
    env = {"COLUMNS": "80", "LINES": "24", "TERM": "xterm"}
    believe_the_terminal(env)
    assert env == {"TERM": "xterm"}


def test_the_environment_decides_about_colour_and_rate() -> None:
    assert colourless({"NO_COLOR": "1"})
    assert not colourless({"NO_COLOR": ""})
    assert not colourless({})
    assert view_rate({}) == FPS
    assert view_rate({"SSH_CONNECTION": "a b c d"}) == FPS_REMOTE


@pytest.mark.parametrize(
    ("env", "bits"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, 24),
        ({"TERM": "xterm-direct"}, 24),
        ({"TERM": "xterm-256color"}, 8),
        ({"TERM": "xterm-kitty"}, 8),
        ({"TERM": "screen", "TMUX": "/tmp/tmux-0/default,1,0"}, 8),
        ({"TERM": "screen"}, 4),
        ({"TERM": "linux"}, 4),
        ({}, 4),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, 0),
    ],
)
def test_how_many_colours_there_are(env: dict[str, str], bits: int) -> None:
    assert colour_bits(env) == bits


def test_what_is_asked_for_comes_before_what_there_is() -> None:
    env = {"TERM": "xterm-256color", "NO_COLOR": "1"}
    assert tell_textual("16", env) == 4
    assert env["TEXTUAL_COLOR_SYSTEM"] == "standard"
    assert "NO_COLOR" not in env
    assert tell_textual("none", env) == 0
    assert env["NO_COLOR"] == "1"
    assert tell_textual("auto", env) == 0
