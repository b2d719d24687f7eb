"""How often the screen is looked after and how much is sent at once, so that keys are answered on any link.

Textual hands its output to a thread with a queue; a slow link fills the queue, and then every key waits for
all that stands in it. So nothing is sent while the last frame is still on its way, and a frame is no larger
than what the link has shown to take.
"""

from __future__ import annotations

from typing import Any, Final

MOST_BYTES: Final = 12_000  # of the grids in a frame
LEAST_BYTES: Final = 2_000
RECOVERY: Final = 1.1  # how a frame may grow after one that went through
UNFOCUSED_S: Final = 0.5  # between two looks while another window has the focus
LOOKS: Final = 5  # of which one is enough while nothing moves


class Flow:
    """Asked before every look."""

    def __init__(self) -> None:
        self._bytes = float(MOST_BYTES)
        self._last = float("-inf")

    @property
    def bytes(self) -> int:
        """How much the grids may send in a frame."""
        return int(self._bytes)

    def open(self, now: float, *, focused: bool, writing: bool) -> bool:
        """Whether to look now (wall seconds); `writing`: the last frame is still on its way."""
        if writing:
            self._bytes = max(LEAST_BYTES, self._bytes / 2)
            return False
        if not focused and now - self._last < UNFOCUSED_S:
            return False
        self._bytes = min(MOST_BYTES, self._bytes * RECOVERY)
        self._last = now
        return True


def writing(app: Any) -> bool:
    """Whether the terminal has not yet taken what was sent; private to Textual, so with a safe answer."""
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    queue = getattr(writer, "_queue", None)
    return queue is not None and not queue.empty()


class Rest:
    """Fewer looks while nothing moves: what a key changes is painted by the key."""

    def __init__(self) -> None:
        self._left = 0

    def settle(self, *, calm: bool) -> None:
        """After a look that has shown nothing new while all stands still, or one that may show more."""
        self._left = LOOKS if calm else 0

    def skip(self) -> bool:
        """Whether this look may be left out."""
        self._left -= self._left > 0
        return self._left > 0
