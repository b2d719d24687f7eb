"""The trace browser: traces of a folder and the bundled ones, what each holds, and a window to run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding
from textual.events import Click, Resize
from textual.worker import get_current_worker

from kvtui.errors import KvtuiError
from kvtui.traces import load
from kvtui.traces.info import info
from kvtui.traces.synthetic import bundled, path_of
from kvtui.tui.cleanapp import CleanApp
from kvtui.tui.rows import Rows
from kvtui.tui.themes import theme_name, themes
from kvtui.tui.view.canvas import Canvas, Line, cut, wrap
from kvtui.tui.view.footer import Spot, footer_line
from kvtui.tui.view.ink import BOLD, HOT, T2, T3, WARN, Ink
from kvtui.tui.view.keys import Hint
from kvtui.tui.view.palette import PALETTES, THEMES, Look
from kvtui.tui.view.tracepage import CHART_ROWS, Opened, Window, chart_columns, trace_lines

_KEPT = 8  # traces that stay in memory
_MOST = 1000  # files of a folder that are listed
_SUFFIXES = frozenset(
    [".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".gz", ".bz2", ".xz", ".zst"]
)  # what traces are usually named
_HINTS = (
    Hint("↑ ↓", "choose", ""),
    Hint("enter", "run", "run"),
    Hint("← →", "move the window", "move(0.25)", "window"),
    Hint("+ -", "its length", "scale(0.5)", "size"),
    Hint("0", "whole trace", "whole", "all"),
    Hint("q", "quit", "quit"),
)


class Entry(NamedTuple):
    """A line of the list: a bundled workload, a folder or a file."""

    label: str
    path: str
    folder: bool = False


class Choice(NamedTuple):
    """What the user wants to run: a trace, or a window of it in seconds."""

    trace: str
    start_s: float | None = None
    duration_s: float | None = None


def entries_of(folder: Path) -> list[Entry]:
    """What can be opened there: folders first, then files that may be traces; hidden ones are left out."""
    try:
        found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        found = []
    up = [Entry("../", str(folder.parent), folder=True)] if folder.parent != folder else []
    folders = [Entry(f"{path.name}/", str(path), folder=True) for path in found if path.is_dir()]
    files = [
        Entry(path.name, str(path)) for path in found if path.suffix.lower() in _SUFFIXES and path.is_file()
    ]
    return [*up, *folders, *files][:_MOST]


class BrowseApp(CleanApp[Choice | None]):
    """Gives what is to be run, None if the user left."""

    TITLE = "kvtui"
    CSS_PATH = Path(__file__).with_name("kvtui.tcss")
    ALLOW_SELECT = False
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar = [
        Binding("up,k", "choose(-1)", show=False),
        Binding("down,j", "choose(1)", show=False),
        Binding("pageup", "choose(-10)", show=False),
        Binding("pagedown", "choose(10)", show=False),
        Binding("enter", "run", show=False),
        Binding("left", "move(-0.25)", show=False),
        Binding("right", "move(0.25)", show=False),
        Binding("plus,equals_sign", "scale(2.0)", show=False),
        Binding("minus", "scale(0.5)", show=False),
        Binding("0", "whole", show=False),
        Binding("q,escape,ctrl+c,ctrl+q", "quit", show=False, priority=True),
    ]

    def __init__(self, folder: Path, *, theme: str = "dark", ascii: bool = False, at: str = "") -> None:
        """`at`: the trace that is chosen at first, a bundled one by its name."""
        super().__init__(ansi_color=None if theme in THEMES else True)
        for each in themes():
            self.register_theme(each)
        self.theme = theme_name(theme)
        self._look = Look(PALETTES[theme], ascii)
        self._list, self._page, self._footer = (
            Rows(self._look, id=name) for name in ("browse-list", "browse-page", "browse-footer")
        )
        self._bundled = [Entry(name, str(path_of(name))) for name in bundled()]
        self._opened: dict[str, Opened | KvtuiError] = {}
        self._spots: list[Spot] = []
        self._window = Window()
        self._at = 0
        bundled_too = any(entry.label == at for entry in self._bundled)
        self._open(Path(at).parent if at and not bundled_too else folder)
        known = [entry.label if entry in self._bundled else entry.path for entry in self._entries]
        self._at = known.index(at) if at in known else self._at

    def _open(self, folder: Path) -> None:
        self._folder = folder
        self._entries = [*self._bundled, *entries_of(folder)]
        first = len(self._bundled) + sum(entry.folder for entry in self._entries)
        self._at = first if first < len(self._entries) else 0

    @property
    def entry(self) -> Entry:
        """What is chosen."""
        return self._entries[self._at]

    def compose(self) -> ComposeResult:
        yield from (self._list, self._page, self._footer)

    def on_resize(self, event: Resize) -> None:
        width, height = event.size
        self._side = max(16, min(36, width // 3))
        for rows, x, y, w, h in (
            (self._list, 1, 1, self._side, height - 2),
            (self._page, self._side + 3, 1, width - self._side - 4, height - 2),
            (self._footer, 0, height - 1, width, 1),
        ):
            rows.styles.offset = (x, y)
            rows.styles.width, rows.styles.height = w, max(h, 1)
        self._show()
        self._look_into()

    # ---- keys and mouse

    def action_choose(self, by: int) -> None:
        self._choose(self._at + by)

    def _choose(self, at: int) -> None:
        self._at = min(max(at, 0), len(self._entries) - 1)
        self._window = Window()
        self._show()
        self._look_into()

    def action_move(self, by: float) -> None:
        self._set(self._window.moved(by))

    def action_scale(self, factor: float) -> None:
        self._set(self._window.scaled(factor))

    def action_whole(self) -> None:
        self._set(Window())

    def _set(self, window: Window) -> None:
        opened = self._opened.get(self.entry.path)
        if isinstance(opened, Opened) and opened.workload.timed:
            self._window = window
            self._show()

    def action_run(self) -> None:
        if self.entry.folder:
            self._open(Path(self.entry.path))
            self._choose(self._at)
            return
        opened = self._opened.get(self.entry.path)
        if isinstance(opened, Opened):
            span, window = opened.workload.span_s, self._window
            times = (
                (None, None) if window.whole else (window.start * span, (window.end - window.start) * span)
            )
            trace = self.entry.label if self._at < len(self._bundled) and window.whole else self.entry.path
            self.exit(Choice(trace, *times))

    def on_click(self, event: Click) -> None:
        x, y = event.screen_x, event.screen_y
        if y == self.size.height - 1:
            for start, end, action in self._spots:
                if start <= x < end:
                    self.call_later(self.run_action, action)
        elif x <= self._side + 1:
            self._clicked(y - 1)
        elif y - 1 in CHART_ROWS:
            left, columns = chart_columns(self._page.size.width)
            self._set(self._window.around((x - self._side - 3 - left + 0.5) / columns))

    def _clicked(self, row: int) -> None:
        shown = self._shown()
        if 0 <= row < len(shown) and (at := shown[row]) is not None:
            if at == self._at and self.entry.folder:
                self.action_run()
            else:
                self._choose(at)

    # ---- what is shown

    def _shown(self) -> list[int | None]:
        """The entry in each row of the list; None for a headline or nothing."""
        split = len(self._bundled)
        rows: list[int | None] = [None, *range(split), None, None, *range(split, len(self._entries))]
        height = self._list.size.height or 1
        where = rows.index(self._at)
        first = min(max(where - height // 2, 0), max(len(rows) - height, 0))
        return rows[first : first + height]

    def _show(self) -> None:
        self._list.show(self._list_lines())
        self._page.show(self._page_lines())
        line, self._spots = footer_line(list(_HINTS), width=self.size.width, margin=1)
        self._footer.show([line])

    def _list_lines(self) -> tuple[Line, ...]:
        rows, width = self._shown(), self._side
        canvas = Canvas(width, max(len(rows), 1))
        heads = iter(("Bundled", None, str(self._folder)) if rows[0] is None else (None, str(self._folder)))
        for y, at in enumerate(rows):
            if at is None:
                head = next(heads, None)
                canvas.put(0, y, _tail(head or "", width), BOLD)
                continue
            entry = self._entries[at]
            ink = HOT if at == self._at else T3 if entry.folder else T2
            canvas.put(0, y, ("▸ " if at == self._at else "  ") + cut(entry.label, width - 2), ink)
        return canvas.lines()

    def _page_lines(self) -> Sequence[Line]:
        width, height = self._page.styles.width, self._page.styles.height
        if width is None or height is None:
            return ()
        size = max(int(width.value), 1), max(int(height.value), 1)
        opened = self._opened.get(self.entry.path)
        if isinstance(opened, Opened):
            return trace_lines(opened, self._window, width=size[0], height=size[1], ascii=self._look.ascii)
        canvas = Canvas(*size)
        for y, (text, ink) in enumerate(self._words(opened, size[0])):
            canvas.put(0, y, text, ink)
        return canvas.lines()

    def _words(self, error: KvtuiError | None, width: int) -> list[tuple[str, Ink]]:
        if self.entry.folder:
            return [(self.entry.label, BOLD), ("a folder; enter opens it", T3)]
        if error is None:
            return [(cut(self.entry.label, width), BOLD), ("reading …", T3)]
        told = [(line, WARN) for line in wrap(error.message, width)]
        return [*told, *((line, T3) for line in wrap(error.hint or "", width))]

    # ---- reading

    def _look_into(self) -> None:
        if not self.entry.folder and self.entry.path not in self._opened:
            self._read(self.entry.path)

    @work(thread=True, exclusive=True)
    def _read(self, path: str) -> None:
        opened: Opened | KvtuiError
        try:
            workload = load(path)
            opened = Opened(workload, info(workload))
        except KvtuiError as error:
            opened = error
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._keep, path, opened)

    def _keep(self, path: str, opened: Opened | KvtuiError) -> None:
        self._opened[path] = opened
        while len(self._opened) > _KEPT:
            del self._opened[next(iter(self._opened))]
        self._show()


def _tail(text: str, width: int) -> str:
    """The end of a path that is too long."""
    return text if len(text) <= width else "…" + text[len(text) - width + 1 :]
