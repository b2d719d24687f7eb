"""The words of the tour's scenes."""

from __future__ import annotations

from typing import NamedTuple

from kvtui.tui.view.words import JAPANESE


class TourText(NamedTuple):
    """A scene in words; fields in braces are numbers of the run."""

    title: str
    above: str  # over the grid: what its cells are
    notes: tuple[str, ...]  # what is pointed at
    figure: str  # what the one large number is
    text: str

    def filled(self, values: dict[str, str]) -> TourText:
        """The same with the numbers in it."""
        title, above, figure, text = (
            part.format(**values) for part in (self.title, self.above, self.figure, self.text)
        )
        return TourText(title, above, tuple(note.format(**values) for note in self.notes), figure, text)


def tour_text(key: str, language: str) -> TourText:
    """The words of a scene."""
    from kvtui.tui.view.words import tour_en, tour_ja

    return (tour_ja if language == JAPANESE else tour_en).TOUR[key]
