"""A publisher of KV events with a replay socket, on local ports."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

END = (-1).to_bytes(8, "big", signed=True)
Frames = Sequence[bytes]


@contextmanager
def publishing(zmq: Any, kept: Sequence[Frames]) -> Iterator[tuple[Callable[[Frames], None], str, str]]:
    """Gives what publishes a message, and both endpoints; the replay socket has all that is `kept`."""
    context = zmq.Context()
    publisher, router = context.socket(zmq.PUB), context.socket(zmq.ROUTER)
    publisher.setsockopt(zmq.SNDHWM, 0)
    ports = [socket.bind_to_random_port("tcp://127.0.0.1") for socket in (publisher, router)]
    stop = threading.Event()

    def answer() -> None:
        while not stop.is_set():
            if router.poll(20):
                name, empty, start = router.recv_multipart()
                for each in kept[int.from_bytes(start, "big") :]:
                    router.send_multipart([name, empty, *each])
                router.send_multipart([name, empty, b"", END, b""])

    replaying = threading.Thread(target=answer, daemon=True)
    replaying.start()
    try:
        yield publisher.send_multipart, *(f"tcp://127.0.0.1:{port}" for port in ports)
    finally:
        stop.set()
        replaying.join()
        context.destroy(linger=0)
