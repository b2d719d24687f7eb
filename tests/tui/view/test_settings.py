"""The page of settings: nothing is cut, and what comes of them is told with its error."""

from __future__ import annotations

import pytest

from kvtui.comparison.heading import heading_of
from kvtui.tui.view.canvas import plain
from kvtui.tui.view.scene import error_words
from kvtui.tui.view.settings import settings_lines, settings_of
from tests.tui.stagecraft import small


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("lane", [0, 1])
def test_every_setting_is_told_in_whole_words(width: int, lane: int) -> None:
    experiment = small()
    error = error_words(heading_of(experiment))
    for chosen, setting in enumerate(settings_of(experiment, lane)):
        page = [
            plain(line).rstrip()
            for line in settings_lines(experiment, experiment, lane, chosen, width=width, error=error)
        ]
        assert not any("…" in line for line in page)
        assert all(len(line) <= width - 2 for line in page)
        assert setting.words in " ".join(" ".join(page).split()), "of the chosen one all is told"
        assert any(
            setting.label in line and (setting.words in line or setting.short in line) for line in page
        )
        assert any(line.startswith("  Predicted: TPOT ±") for line in page[-2:])
    assert len(page) <= 20, "in sight at 80x24, without scrolling"
