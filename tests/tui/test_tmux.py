"""In a real terminal: start, keys, sizes, suspension, and the shell as it was afterwards."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tests.tui.pty_run import ROOT

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]


class Tmux:
    """A shell in a tmux server of our own."""

    def __init__(self, name: str, width: int, height: int) -> None:
        self._name = name
        self.run("new-session", "-d", "-x", str(width), "-y", str(height), "env PS1='ready> ' sh")
        self.wait(lambda screen: "ready>" in screen)

    def run(self, *arguments: str) -> str:
        command = ["tmux", "-L", self._name, "-f", "/dev/null", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def keys(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    def wait(self, holds: Callable[[str], bool], seconds: float = 20.0) -> str:
        """The screen, once something holds of it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            screen = self.screen()
            if holds(screen):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"never came to be:\n{self.screen()}")


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    terminal = Tmux(f"kvtui-test-{time.monotonic_ns()}", 100, 30)
    try:
        terminal.keys(f"cd {ROOT} && {sys.executable} -m kvtui chat; echo code $?", "Enter")
        terminal.wait(lambda screen: "space pause" in screen)
        yield terminal
    finally:
        terminal.run("kill-server")


def test_keys_and_sizes(tmux: Tmux) -> None:
    tmux.keys("Space")
    tmux.wait(lambda screen: "PAUSED" in screen)
    for width, height, shows in (
        (80, 24, "tab chart"),
        (120, 36, "Events"),
        (200, 60, "TPOT"),
        (50, 10, "needs 60 x 16"),
    ):
        tmux.run("resize-window", "-x", str(width), "-y", str(height))
        tmux.wait(lambda screen, shows=shows: shows in screen)
    tmux.run("resize-window", "-x", "120", "-y", "36")
    screen = tmux.wait(lambda screen: "PAUSED" in screen and "Events" in screen)
    assert "Contiguous" in screen
    tmux.keys("?")
    tmux.wait(lambda screen: "every key here" in screen)
    tmux.keys("Escape")
    tmux.wait(lambda screen: "Events" in screen)
    tmux.keys("q")
    tmux.wait(lambda screen: "code 0" in screen)


def test_suspended_and_taken_up_again(tmux: Tmux) -> None:
    tmux.keys("Space")
    before = tmux.wait(lambda screen: "PAUSED" in screen)
    tmux.keys("C-z")
    tmux.wait(lambda screen: "Contiguous" not in screen)
    tmux.keys("clear; echo in between; fg", "Enter")
    after = tmux.wait(lambda screen: "PAUSED" in screen)
    time.sleep(0.5)
    after = tmux.screen()
    assert "in between" not in after
    assert after.splitlines()[:15] == before.splitlines()[:15]


@pytest.mark.parametrize(("name", "code"), [("TERM", 143), ("HUP", 129), ("QUIT", 131)])
def test_a_killed_run_gives_the_shell_back(tmux: Tmux, name: str, code: int) -> None:
    pane = tmux.run("list-panes", "-F", "#{pane_pid}").strip()
    child = subprocess.run(["pgrep", "-P", pane], capture_output=True, text=True, check=True).stdout.split()[
        0
    ]
    subprocess.run(["kill", f"-{name}", child], check=True)
    screen = tmux.wait(lambda screen: f"code {code}" in screen)
    assert "Contiguous" not in screen
    tmux.keys("echo still here", "Enter")
    tmux.wait(lambda screen: screen.count("still here") == 2)
