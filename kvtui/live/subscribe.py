"""Listens to a server's KV events over ZeroMQ (extra `attach`), in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtui.errors import ConfigError
from kvtui.live.batches import Batches, Taker
from kvtui.live.content import Content
from kvtui.live.endpoints import check_endpoint

POLL_MS: Final = 100
REPLAY_MS: Final = 2000  # for an answer of the replay socket
_END: Final = (-1).to_bytes(8, "big", signed=True)


class Listener:
    """Gives `taker` what one publisher says until `close`. `lock` is held meanwhile."""

    def __init__(self, endpoint: str, taker: Taker, *, replay: str | None = None, topic: str = "") -> None:
        """Connect, in the background.

        Raises:
            ConfigError: the extra is not installed, or an endpoint makes no sense.
        """
        for place in (endpoint, replay):
            if place is not None:
                check_endpoint(place)
        zmq = _zmq()
        self._context = zmq.Context()
        self._replay_endpoint = replay
        self._taker = taker
        self.batches = Batches(taker, replay=None if replay is None else self._replay)
        self.lock = threading.Lock()
        self._stop = threading.Event()
        try:
            self._socket = self._context.socket(zmq.SUB)
            self._socket.setsockopt(zmq.RCVHWM, 0)  # nothing is dropped here, however long we are busy
            self._socket.setsockopt(zmq.SUBSCRIBE, topic.encode())
            self._socket.connect(endpoint)
        except zmq.ZMQError as error:
            raise ConfigError(
                f"'{endpoint}' is no place for events: {error}", hint="tcp://localhost:5557"
            ) from None
        self._thread = threading.Thread(target=self._run, daemon=True, name="kv events")
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()
        self._socket.close(0)
        self._context.term()

    def _run(self) -> None:
        self._guarded(self.batches.start)
        while not self._stop.is_set():
            if self._socket.poll(POLL_MS):
                frames = self._socket.recv_multipart()
                if len(frames) == 3:
                    number, payload = int.from_bytes(frames[1], "big"), frames[2]
                    self._guarded(partial(self.batches.take, number, payload))

    def _guarded(self, change: Callable[[], None]) -> None:
        """Whatever a publisher sends, we listen on; what could not be taken is missing."""
        with self.lock:
            try:
                change()
            except Exception:
                self._taker.gap()

    def _replay(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Older batches. The server answers with one message each and with number -1 at the end."""
        zmq = _zmq()
        with self._context.socket(zmq.DEALER) as socket:  # REQ would take the first answer only
            socket.setsockopt(zmq.LINGER, 0)
            socket.connect(self._replay_endpoint)
            socket.send_multipart([b"", start.to_bytes(8, "big")])
            while not self._stop.is_set() and socket.poll(REPLAY_MS):
                frames = socket.recv_multipart()
                number, payload = frames[-2:]
                if number == _END:
                    return
                yield int.from_bytes(number, "big"), payload


class Subscription(Listener):
    """The content map of one publisher, kept up to date until `close`."""

    def __init__(self, endpoint: str, *, blocks: int, replay: str | None = None, topic: str = "") -> None:
        self.content = Content(blocks)
        super().__init__(endpoint, self.content, replay=replay, topic=topic)

    def cells(self, blocks: int | None = None) -> tuple[NDArray[np.bool_], bool]:
        """Cells with cached content, and whether events are missing; of so many `blocks` from now on."""
        with self.lock:
            if blocks is not None and blocks != self.content.map.blocks:
                self.content.map.resize(blocks)
            return self.content.taken(), self.content.stale


def _zmq() -> Any:
    try:
        import msgpack  # noqa: F401
        import zmq
    except ImportError as error:
        raise ConfigError(
            f"KV events need the Python package {error.name}", hint="pip install 'kvtui[attach]'"
        ) from None
    return zmq
