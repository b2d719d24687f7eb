"""The line that asks for something at the foot of the screen, and under it the keys that answer and leave."""

from __future__ import annotations

from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label


def prompt(question: str, *, enter: str, start: str = "", chosen: bool = False, more: str = "") -> Vertical:
    """`enter`: what the key does; `start` stands there to be changed, `chosen` to be written over; `more`:
    what else there is to know."""
    answer = Input(value=start, compact=True, select_on_focus=chosen)
    row = Horizontal(Label(question, id="question"), answer)
    answers = f"enter {enter}   esc leave it   {more}".rstrip()
    return Vertical(row, Label(answers, id="answers"), id="ask")
