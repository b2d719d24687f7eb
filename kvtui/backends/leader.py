"""Measures lanes in the background, a little ahead of those that show them.

What is on the screen is another engine of the same lane, which takes its step times from here: a step on a
device may take as long as it likes, and no key waits for it.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Protocol

from kvtui.serving.engine import Engine
from kvtui.serving.measured import StepClock, StepTimes

AHEAD: Final = 64  # steps measured beyond those asked for
REST_S: Final = 0.002  # between two looks when nothing is to be done
PATIENCE_S: Final = 10.0  # that an end waits for the step in progress


class Measuring(Protocol):
    """Carries out the steps of one lane."""

    times: StepTimes

    def start(self, engine: Engine) -> StepClock:
        """Allocate; in the thread of the leader, when the lane's turn has come."""
        ...

    def release(self) -> None:
        """Give all memory back."""
        ...


class _Led:
    """A lane that is stepped here."""

    def __init__(self, engine: Engine, measuring: Measuring) -> None:
        self.engine = engine
        self.times = measuring.times
        self.measuring = measuring
        self.dropped = False

    @property
    def wanted(self) -> bool:
        return not self.times.complete and len(self.times.ps) < self.times.seen + AHEAD

    def advance(self) -> None:
        """One step more; what goes wrong is for those who ask for its time."""
        try:
            if self.engine.clock is None:
                self.engine.clock = self.measuring.start(self.engine)
            self.times.complete = not self.engine.step(1)
        except Exception as error:
            self.times.failure = error
            self.times.complete = True

    def drop(self) -> None:
        self.dropped = True

    def wait(self, step: int) -> None:
        while not (self.times.ready(step) or self.dropped):
            time.sleep(REST_S)


class Leader:
    """One thread for all lanes of a device: they take turns, so that none disturbs another's times."""

    def __init__(self, *, resting: Callable[[], None] = lambda: None) -> None:
        """`resting` is called again and again while there is nothing to do."""
        self._resting = resting
        self._coming: SimpleQueue[_Led] = SimpleQueue()
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    def lead(self, engine: Engine, measuring: Measuring) -> None:
        """Step the engine from now on; `stop` of its times ends that and gives the lane's memory back."""
        led = _Led(engine, measuring)
        measuring.times.stop, measuring.times.wait = led.drop, led.wait
        self._coming.put(led)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="measuring", daemon=True)
            atexit.register(self.close)  # never in the middle of a step when the libraries are torn down
            self._thread.start()

    def close(self) -> None:
        """End, with the step in progress."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        lanes: list[_Led] = []
        while not self._ending.is_set():
            for led in lanes:
                if led.dropped:
                    led.measuring.release()  # before more memory is taken
            while not self._coming.empty():
                lanes.append(self._coming.get())
            lanes = [led for led in lanes if not led.dropped]
            due = [led for led in lanes if led.wanted]
            if due:
                min(due, key=lambda led: led.engine.now_ps).advance()
            else:
                self._resting()
                self._ending.wait(REST_S)
