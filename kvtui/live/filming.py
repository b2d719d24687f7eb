"""Recording servers while they are watched, in the format of any recording."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from kvtui import __version__
from kvtui.comparison.heading import Heading
from kvtui.errors import RecordingError
from kvtui.frames.counts import LaneInfo
from kvtui.live.drawing import Drawing, Grid
from kvtui.live.frames import Look
from kvtui.live.session import Seen
from kvtui.recording.recorder import Recorder


class LiveFilming:
    """Every look into one file, once it is known until when it stood. A file that can no longer be written
    ends the filming, not the watching: `problem` then says why."""

    def __init__(
        self,
        path: Path,
        heading: Heading,
        lanes: Sequence[LaneInfo],
        report: Mapping[str, Any],
        *,
        force: bool = False,
    ) -> None:
        """Open the file; `report` is what is known at the start.

        Raises:
            RecordingError: it exists or cannot be written.
        """
        about = {"kvtui": __version__, "heading": asdict(heading), "report": dict(report)}
        self.path = path
        self.problem: str | None = None
        self._lock = threading.Lock()  # servers are looked at by threads of their own
        self._recorder: Recorder | None = Recorder(path, about, force=force)
        self._tracks = [self._recorder.add(info) for info in lanes]
        self._grids = [Grid(info.blocks, info.block_size, info.region_blocks) for info in lanes]
        self._standing: list[Seen | None] = [None] * len(self._tracks)  # not yet written

    @property
    def on(self) -> bool:
        """Whether frames are still taken."""
        return self._recorder is not None

    def take(self, at: int, seen: Seen) -> None:
        """A look at server `at`."""
        with self._lock:
            before, self._standing[at] = self._standing[at], seen
            if before is not None:
                self._note(at, before, until_ps=seen.now_ps)

    def _note(self, at: int, seen: Seen, *, until_ps: int) -> None:
        if self._recorder is None:
            return
        try:
            frame = self._on_one_grid(at, seen).frame
            self._recorder.note(self._tracks[at], frame, now_ps=seen.now_ps, next_ps=until_ps)
        except RecordingError as error:
            self.problem = error.message
            self._close()

    def _on_one_grid(self, at: int, seen: Seen) -> Look:
        """A track has one grid: what has another size since is drawn on it by its share."""
        look, grid = seen.look, self._grids[at]
        if look.drawing.grid == grid:
            return look
        return replace(look, drawing=Drawing.of(seen.snapshot.reading, grid, None))

    def finish(self, report: Mapping[str, Any]) -> None:
        """Add what was known at the end and close the file."""
        with self._lock:
            for at, seen in enumerate(self._standing):
                if seen is not None:
                    self._note(at, seen, until_ps=seen.now_ps)
            if self._recorder is None:
                return
            try:
                self._recorder.report(report)
            except RecordingError as error:
                self.problem = error.message
            self._close()

    def _close(self) -> None:
        if self._recorder is not None:
            self._recorder.close()
            self._recorder = None
