"""Leaves the terminal clean however the program ends."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_LOOK_MS = 500


@contextmanager
def handled_signals(leave: Callable[[int], None]) -> Iterator[None]:
    """While inside, SIGTERM, SIGHUP and SIGQUIT call `leave` with the exit code: 128 and the number."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, leave, 128 + number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


def watch_hangup(fd: int = 0) -> threading.Event:
    """Ends the process when the terminal behind `fd` is gone; the event, once set, ends the watch.

    A thread, as the event loop may hang on writing to the closed terminal; and an exit without clean-up, as
    there is nothing left to clean up. Needed where SIGHUP is ignored (nohup, sudo): without it the process
    would spin for ever.
    """
    stop = threading.Event()
    poll = select.poll()
    poll.register(fd, select.POLLHUP | select.POLLERR | select.POLLNVAL)

    def watch() -> None:
        while not stop.is_set():
            if any(event & (select.POLLHUP | select.POLLNVAL) for _, event in poll.poll(_LOOK_MS)):
                if not stop.is_set():
                    os._exit(128 + signal.SIGHUP)
                return

    threading.Thread(target=watch, name="hang-up watch", daemon=True).start()
    return stop
