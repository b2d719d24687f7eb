"""The one table of keys: bindings, footer, help and command palette are made from it."""

from __future__ import annotations

from collections.abc import Set
from typing import Final, NamedTuple

from kvtui.frames.frame import EventKind
from kvtui.tui.view.canvas import text_width
from kvtui.tui.view.scene import Run
from kvtui.tui.view.useless import does
from kvtui.tui.view.words import word

NOTHING: Final[Set[str]] = frozenset()


class Key(NamedTuple):
    """Keys as Textual names them, the action, how the keys are written, and what they do in general."""

    keys: str
    action: str
    written: str
    group: str
    help: str


KEYS: Final = (
    Key("space", "toggle_pause", "space", "Time", "pause, run"),
    Key("right,full_stop", "step", "→ or .", "Time", "one step on, while paused"),
    Key("left,comma", "back", "← or ,", "Time", "one step back, while it stands still"),
    Key("n", "next_event", "n", "Time", "next preemption, eviction or rejection"),
    Key("N", "previous_event", "N", "Time", "go to the one before"),
    Key("p", f"next_event('{EventKind.PREEMPTED}')", "p P", "Time", "the next preemption, the one before"),
    Key("x", f"next_event('{EventKind.REJECTED}')", "x X", "Time", "the next rejection, the one before"),
    Key("v", f"next_event('{EventKind.EVICTED}')", "v V", "Time", "the next eviction, the one before"),
    Key("y", f"next_event('{EventKind.COPIED}')", "y Y", "Time", "the next copy-on-write, the one before"),
    Key("w", f"next_event('{EventKind.QUEUE}')", "w W", "Time", "where a queue forms, the one before"),
    Key("home", "go_to_start", "home", "Time", "go to the start"),
    Key("end", "go_to_end", "end", "Time", "go to the furthest point reached"),
    Key("colon", "go_to", ":", "Time", "go to a time; or click or drag on the timeline"),
    Key("left_square_bracket", "slower", "[", "Time", "slower"),
    Key("right_square_bracket", "faster", "]", "Time", "faster, up to as fast as it goes"),
    Key("r", "restart", "r", "Time", "run again from the start, same seed"),
    Key("1", "focus_lane(0)", "1", "Lanes", "choose the first lane"),
    Key("2", "focus_lane(1)", "2", "Lanes", "choose the second lane"),
    Key("m", "manager", "m", "Lanes", "another manager or reserve rule for it"),
    Key("b", "block_size", "b", "Lanes", "another block size for it"),
    Key("o", "settings", "o", "Lanes", "settings: what each does, and changing it"),
    Key("a", "add_lane", "a", "Lanes", "add a lane; it catches up"),
    Key("D", "remove_lane", "D", "Lanes", "remove the chosen lane"),
    Key("f", "branch", "f", "Lanes", "fork: what if it had another setting from here"),
    Key("equals_sign", "make_baseline", "=", "Lanes", "compare the others with the chosen lane"),
    Key("enter,i", "inspect", "enter", "Inspect", "inspect a request; or click cell, row or line"),
    Key("down,j", "next_request(1)", "↓ or j", "Inspect", "next request"),
    Key("up,k", "next_request(-1)", "↑ or k", "Inspect", "the request before"),
    Key("B", "next_block(-1)", "b B", "Inspect", "next block of it, the one before"),
    Key("escape", "close", "esc", "Inspect", "close the inspector"),
    Key("z", "zoom", "z", "Look", "zoom: a cell for each block, or the whole pool"),
    Key("plus", "closer(1)", "+ -", "Look", "half as much memory a cell, twice as much"),
    Key("J,shift+down", "scroll_grid(1)", "J K", "Look", "zoomed: down and up through the pool"),
    Key("tab", "next_panel", "tab", "Look", "next panel: chart, events, queues, figures"),
    Key("slash", "filter", "/", "Look", "filter the queues: by request or by state"),
    Key("pagedown", "page(1)", "pgdn", "Look", "next page of the queues; pgup: the one before"),
    Key("S", "summary", "S", "Look", "summary: the lanes side by side"),
    Key("T", "tour", "T", "Look", "tour: what paged memory does, scene by scene"),
    Key("question_mark", "help", "?", "Look", "this page"),
    Key("s", "app.screenshot", "s", "Look", "save the screen as an SVG picture"),
    Key("e", "export", "e", "Look", "export what is seen: a page, a table, data, a trace for Perfetto"),
    Key("ctrl+p", "app.command_palette", "ctrl+p", "Look", "everything, by name"),
    Key("q,ctrl+c,ctrl+q", "app.quit", "q", "Look", "quit"),
)

_BACK: Final = (
    Key("pageup", "page(-1)", "pgup", "Look", "the page before"),
    Key("minus", "closer(-1)", "-", "Look", "twice as much memory a cell"),
    Key("K,shift+up", "scroll_grid(-1)", "K", "Look", "up through the pool"),
)

# The same to the moment before, in capitals: in the help they stand beside the small letters.
BACKWARDS: Final = (
    *(
        key._replace(keys=key.keys.upper(), action=key.action.replace("next", "previous"))
        for key in KEYS
        if key.keys in ("p", "x", "v", "y", "w")
    ),
    *_BACK,
)

MORE_LANES: Final = (
    Key("3", "focus_lane(2)", "3", "Lanes", "choose the third lane"),
    Key("4", "focus_lane(3)", "4", "Lanes", "choose the fourth lane"),
)


class Hint(NamedTuple):
    """An entry of the footer: the key, what it does now, and the action for the mouse. Where not all have
    room, the `short` word is taken, and those of one `group` stand together as `parts` of one entry."""

    key: str
    word: str
    action: str
    short: str = ""
    group: str = ""
    parts: tuple[Hint, ...] = ()
    name: str = ""  # of the group


def keys_for(lanes: int, *, useless: Set[str] = NOTHING) -> tuple[Key, ...]:
    """The keys of a screen with so many lanes, but for those whose actions are `useless`."""
    more = MORE_LANES[: max(0, lanes - 2)]
    table = [key for key in KEYS if lanes > 1 or not key.action.startswith("focus_lane")]
    at = next(at for at, key in enumerate(table) if key.action == "manager")
    return tuple(key for key in (*table[:at], *more, *table[at:]) if does(key.action) not in useless)


def hints(*, run: Run, next_panel: str | None, blocks: bool, useless: Set[str] = NOTHING) -> list[Hint]:
    """Footer of the main screen, in reading order, but for what is `useless`; `blocks`: whether a block size
    can be changed."""
    first = _first(run)
    panel = [Hint("tab", next_panel, "next_panel")] if next_panel is not None else []
    look = [Hint("i", "inspect", "inspect"), Hint("z", "zoom", "zoom")]
    again = [] if run is Run.ENDED else [Hint("[ ]", "speed", "faster"), Hint("r", "restart", "restart")]
    summary = [] if run is Run.ENDED else [Hint("S", "summary", "summary")]
    entries = [*first, *panel, *_travel(run), *again, *look, *_lanes(blocks=blocks), *summary, *_ENDS]
    return [hint for hint in entries if does(hint.action) not in useless]


def _first(run: Run) -> list[Hint]:
    """What matters most just now."""
    match run:
        case Run.ENDED:
            return [Hint("S", "summary", "summary"), Hint("r", "run again", "restart")]
        case Run.PAUSED:
            return [Hint("space", "run", "toggle_pause"), *_STEPS]
        case Run.SEARCHING:
            return [Hint("space", "stop the search", "toggle_pause", "stop")]
        case Run.RUNNING:
            return [Hint("space", "pause", "toggle_pause")]


def _travel(run: Run) -> list[Hint]:
    """Ways through time, where it stands still."""
    event = [Hint("n", "next event", "next_event")] if run is Run.PAUSED else []
    return [*event, Hint(":", "go to", "go_to")] if run in (Run.PAUSED, Run.ENDED) else []


def _lanes(*, blocks: bool) -> list[Hint]:
    """What changes lanes."""
    return [
        Hint("m", "manager", "manager", group="lane"),
        *([Hint("b", "block size", "block_size", "block", group="lane")] if blocks else []),
        Hint("a", "add lane", "add_lane", "add", group="lane"),
        Hint("f", "fork", "branch", group="lane"),
        Hint("o", "settings", "settings", "setup", group="lane"),
    ]


_STEPS: Final = (
    Hint("→", "step", "step", group="step"),
    Hint("←", "back", "back", group="step"),
)
_HELP: Final = Hint("?", "help", "help", "keys")
_ENDS: Final = (
    Hint("/", "filter", "filter"),
    Hint("s", "screenshot", "app.screenshot"),
    Hint("e", "export", "export"),
    Hint("ctrl+p", "everything", "app.command_palette"),
    _HELP,
    Hint("q", "quit", "app.quit"),
)


def inspector_hints(run: Run, *, blocks: bool, block: bool = False, tall: bool = False) -> list[Hint]:
    """Footer while a request is inspected; `blocks`: whether it holds any, `block`: whether one is shown,
    `tall`: whether there is room for blocks and life at once."""
    moving = run in (Run.RUNNING, Run.SEARCHING)
    return [
        Hint("esc", "close", "close"),
        Hint("↓ ↑", "next request", "next_request(1)", "next"),
        *([Hint("b", "next block", "next_block(1)", "block")] if blocks else []),
        *([Hint("tab", "blocks, life", "next_panel", "life")] if (blocks or block) and not tall else []),
        Hint("z", "zoom", "zoom"),
        *([] if moving else _STEPS),
        Hint("space", "pause" if moving else "run", "toggle_pause"),
        _HELP,
        Hint("q", "quit", "app.quit"),
    ]


HELP_HINTS: Final = (
    Hint("esc", "close", "back"),
    Hint("↑ ↓", "scroll", ""),
    Hint("q", "quit", "app.quit"),
)
SUMMARY_HINTS: Final = (
    Hint("esc", "back to the screen", "back"),
    Hint("↑ ↓", "scroll", ""),
    Hint("s", "screenshot", "app.screenshot"),
    Hint("r", "run again", "restart"),
    Hint("q", "quit", "app.quit"),
)

SETTINGS_HINTS: Final = (
    Hint("esc", "leave as it was", "back"),
    Hint("↑ ↓", "setting", "move(1)"),
    Hint("← →", "value", "turn(1)"),
    Hint("tab", "next lane", "lane"),
    Hint("enter", "run with it", "apply", "run it"),
)

# What gives way first where the footer gets narrow: keys are left out, groups put together.
_SHORTER: Final = (
    *("ctrl+p", "s", "/", "z", ":", "n", "r", "step", "[ ]", "lane", "S"),
    *("e", "b", "i", "m b a f o", "m a f o", "tab", "←", "→"),
)


def fitting(entries: list[Hint], width: int, *, gap: int) -> list[Hint]:
    """The hints that fit in `width` cells. Where not all do, words are short and the least needed hints give
    way; the first two and the last are kept."""
    if length(entries, gap) <= width:
        return entries
    kept = [hint._replace(word=hint.short or hint.word) for hint in entries]
    for name in _SHORTER:
        if length(kept, gap) <= width:
            break
        if any(hint.group == name for hint in kept):
            kept = _together(kept, name)
        else:
            kept = [hint for at, hint in enumerate(kept) if hint.key != name or at < 2]
    return kept


def _together(entries: list[Hint], group: str) -> list[Hint]:
    """The same with one entry for all of a group."""
    parts = tuple(hint for hint in entries if hint.group == group)
    one = Hint(" ".join(hint.key for hint in parts), parts[0].name or group, "", parts=parts)
    return [one if hint is parts[0] else hint for hint in entries if hint not in parts[1:]]


def length(entries: list[Hint], gap: int) -> int:
    """Cells that they take, with `gap` blanks between them."""
    return sum(len(hint.key) + 1 + text_width(hint.word) for hint in entries) + gap * (len(entries) - 1)


def in_language(hint: Hint, language: str) -> Hint:
    """The same in the language of the screen."""
    return hint._replace(
        word=word(hint.word, language), short=word(hint.short, language), name=word(hint.group, language)
    )
