"""`kvtui browse`: what is run from it, and that leaving that leads back."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvtui.cli.browse import _choose_and_run
from kvtui.cli.run import run
from kvtui.tui.browse import Choice


@pytest.mark.parametrize(("options", "times"), [([], 3), (["--headless"], 1)])
def test_leaving_a_run_leads_back(
    options: list[str], times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [Choice("chat"), Choice("chat", 0.0, 5.0), None]
    asked: list[str] = []
    shown: list[object] = []

    def browse(folder: Path, *, at: str, **looks: object) -> tuple[int, Choice | None]:
        asked.append(at)
        return 0, chosen[len(asked) - 1]

    monkeypatch.setattr("kvtui.tui.browse", browse)
    monkeypatch.setattr("kvtui.tui.run", lambda what, **look: shown.append(what) or 0)
    for name in ("terminal_problem", "keys_from_the_terminal"):
        monkeypatch.setattr(f"kvtui.tui.terminal.{name}", lambda: None)
    given = run.make_context("kvtui run", ["chat", *options]).params
    assert _choose_and_run(tmp_path, options, given) == 0
    assert asked == ["", "chat", "chat"][:times], "at what was run last"
    assert len(shown) == times - 1, "on the screen, each time"
