"""Several servers watched at once, each by a thread of its own, and what was seen of them."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Frame
from kvtui.live.drawing import Content
from kvtui.live.frames import Film, Look, info_of
from kvtui.live.poll import Poller, now_s
from kvtui.live.watch import Snapshot
from kvtui.units import picoseconds

KEPT_BYTES: Final = 24 << 20  # of looks a lane: an hour at two a second, days at one a minute
LEAST: Final = 200  # looks a lane
FAR_PS: Final = 1 << 62
_LOOK_BYTES: Final = 3_100  # measured, without a map of cached content
NAP_S: Final = 1.0  # until a server that is stale is shown older


class Seen(NamedTuple):
    """One look at a server."""

    now_ps: int
    look: Look
    snapshot: Snapshot
    info: LaneInfo
    missing: bool = False  # whether KV events are, so that cached content is not drawn whole

    @property
    def frame(self) -> Frame:
        """As a picture."""
        return self.look.frame


class Tape:
    """What was seen of one server, oldest first; what is too old is forgotten. Numbers of looks stay."""

    def __init__(self, first: Seen) -> None:
        self._seen = [first]
        self._forgotten = 0
        self._most = max(LEAST, KEPT_BYTES // (_LOOK_BYTES + len(first.look.drawing.content or b"")))
        self._lock = threading.Lock()

    def add(self, seen: Seen) -> None:
        with self._lock:
            self._seen.append(seen)
            if len(self._seen) > self._most:
                lost = self._most // 4
                self._forgotten += lost
                del self._seen[:lost]

    def seen(self, number: int) -> Seen:
        """A look; the oldest that is still known in place of one that is not."""
        with self._lock:
            return self._seen[min(max(number - self._forgotten, 0), len(self._seen) - 1)]

    @property
    def info(self) -> LaneInfo:
        """Of the server as it was when it was last seen."""
        return self.seen(self.newest).info

    @property
    def newest(self) -> int:
        """Number of the last look."""
        with self._lock:
            return self._forgotten + len(self._seen) - 1

    def at_time(self, now_ps: int) -> int:
        """Number of the last look before a time."""
        with self._lock:
            found = bisect_left(self._seen, now_ps, key=lambda seen: seen.now_ps) - 1
            return self._forgotten + max(found, 0)

    def at_step(self, step: int) -> int:
        with self._lock:
            found = bisect_right(self._seen, step, key=lambda seen: seen.look.step) - 1
            return self._forgotten + max(found, 0)


class LiveLane:
    """A place on a tape, for the player: a step shows the next look once there is one. It is never done."""

    done = False
    ready = True

    def __init__(self, tape: Tape, at: int = 0) -> None:
        self._tape = tape
        self._at = at

    @property
    def info(self) -> LaneInfo:
        return self.seen.info

    @property
    def now_ps(self) -> int:
        return self._tape.seen(self._at).now_ps

    @property
    def next_ps(self) -> int:
        """When the next look was; far away while it is still to come."""
        return self._tape.seen(self._at + 1).now_ps if self._at < self._tape.newest else FAR_PS

    @property
    def step_count(self) -> int:
        return self._tape.seen(self._at).look.step

    @property
    def seen(self) -> Seen:
        return self._tape.seen(self._at)

    def step(self, limit: int = 1) -> bool:
        self._at = min(self._at + limit, self._tape.newest)
        return True

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        return self._tape.seen(self._at).frame


class Memory:
    """Former looks of a lane."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def note(self, lane: LiveLane) -> None:
        """The tape has it."""

    def at_step(self, step: int) -> LiveLane:
        return LiveLane(self._tape, self._tape.at_step(step))

    def at_time(self, now_ps: int) -> LiveLane:
        return LiveLane(self._tape, self._tape.at_time(now_ps))


class Session:
    """Watches until `close`. `contents` tell of each server which of so many blocks hold cached content and
    whether some is missing, if that is known; `heard` is told every look from `start` on, in the thread that
    looked."""

    def __init__(
        self,
        pollers: Sequence[Poller],
        *,
        titles: Sequence[str],
        contents: Sequence[Callable[[int | None], tuple[Content, bool]] | None] = (),
        start_s: float | None = None,
    ) -> None:
        """Times count from `start_s` (by `now_s`), where that is not now."""
        self._start = now_s() if start_s is None else start_s
        self._stop = threading.Event()
        self._contents = [*contents, *[None] * (len(pollers) - len(contents))]
        self.heard: Callable[[int, Seen], None] | None = None
        self._films = [Film(poller.last) for poller in pollers]
        self._infos = [
            info_of(poller.last, title=title) for poller, title in zip(pollers, titles, strict=True)
        ]
        self._kinds = [poller.last.reading.kind for poller in pollers]
        self.tapes = [Tape(self._look(at, poller.last)) for at, poller in enumerate(pollers)]
        self._threads = [
            threading.Thread(target=self._run, args=(at, poller), daemon=True, name=poller.name)
            for at, poller in enumerate(pollers)
        ]

    def start(self) -> None:
        for at, tape in enumerate(self.tapes):
            self._tell(at, tape.seen(0))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(timeout=1.0)  # it may wait for a server that does not answer

    @property
    def now_ps(self) -> int:
        """Since the start."""
        return picoseconds(now_s() - self._start)

    def _run(self, at: int, poller: Poller) -> None:
        while not self._stop.is_set():
            if not poller.wait_s or poller.last.stale_s is not None:  # what is stale grows older in sight
                seen = self._look(at, poller.look())
                self.tapes[at].add(seen)
                self._tell(at, seen)
            self._stop.wait(min(max(poller.wait_s, 0.01), NAP_S))

    def _look(self, at: int, snapshot: Snapshot) -> Seen:
        known, blocks = self._contents[at], snapshot.reading.blocks.value
        content, missing = (None, False) if known is None else known(None if blocks is None else int(blocks))
        if content is not None and len(snapshot.reading.parts) > 1:
            missing = True  # events are those of one engine, and there are others
        time_s = now_s() - self._start
        before = self._films[at].grid, self._kinds[at]
        look = self._films[at].look(snapshot, time_s, content)
        self._kinds[at] = snapshot.reading.kind
        if (self._films[at].grid, self._kinds[at]) != before:
            self._infos[at] = info_of(snapshot, title=self._infos[at].title)
        return Seen(picoseconds(time_s), look, snapshot, self._infos[at], missing)

    def _tell(self, at: int, seen: Seen) -> None:
        if self.heard is not None:
            self.heard(at, seen)
