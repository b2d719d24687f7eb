"""The sentences that say what is happening now; numbers in the colour of what they count."""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter
from typing import NamedTuple

from kvtui.tui.view.canvas import Canvas, Line, cut, plain, wrap_line
from kvtui.tui.view.clauses import Clause, Values, clauses, for_one_line, lane_clause
from kvtui.tui.view.ink import T2, Ink
from kvtui.tui.view.layout import Column
from kvtui.tui.view.scene import Scene
from kvtui.tui.view.situation import EACH_LANE, Situation
from kvtui.tui.view.words import ENGLISH, Say, say


class Room(NamedTuple):
    """Cells and rows for sentences, and their language."""

    width: int
    rows: int
    language: str = ENGLISH


def told_lines(scene: Scene, told: Situation, columns: Sequence[Column], room: Room) -> tuple[Line, ...]:
    """A sentence under each lane (`columns`: where), or one of all lanes where that is what is to be said."""
    if told.name in EACH_LANE and len(columns) > 1:
        return _under_each(scene, told, columns, room)
    return caption(scene, told, room)


def caption(scene: Scene, told: Situation, room: Room) -> tuple[Line, ...]:
    """What is said of all lanes together."""
    said = clauses(scene, told)
    if room.rows == 1:
        said = for_one_line(scene, told.name) or said[:1]
    each = room._replace(rows=room.rows // len(said))
    return tuple(line for clause in said for line in _fitting(clause, each))


def _under_each(scene: Scene, told: Situation, columns: Sequence[Column], room: Room) -> tuple[Line, ...]:
    canvas = Canvas(room.width, room.rows)
    for lane, column in enumerate(columns):
        lines = _fitting(lane_clause(scene, told, lane), room._replace(width=column.width))
        for row, line in enumerate(lines):
            canvas.put_line(column.x, row, line)
    return canvas.lines()


def _fitting(clause: Clause, room: Room) -> list[Line]:
    """The longest form that fits; where none does, the shortest, cut."""
    lines: list[Line] = []
    for form in _forms(say(clause.key, room.language)):
        lines = [line for text in form for line in wrap_line(filled(text, clause.values), room.width)]
        if len(lines) <= room.rows:
            return lines
    end = plain(lines[room.rows - 1]) + " " + plain(lines[room.rows])
    return [*lines[: room.rows - 1], ((cut(end, room.width), T2),)]


def _forms(entry: Say) -> list[tuple[str, ...]]:
    return [form for form in (entry.wide, entry.narrow, (entry.line,) if entry.line else ()) if form]


def filled(text: str, values: Values) -> Line:
    """A text of the tables with its fields filled."""
    line: list[tuple[str, Ink]] = []
    for literal, field, _, _ in Formatter().parse(text):
        if literal:
            line.append((literal, T2))
        if field:
            line.append(values[field])
    return tuple(line)
