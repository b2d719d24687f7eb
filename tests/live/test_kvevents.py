"""KV events: what is cached, through duplicates, gaps, restarts and both encodings."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.live.batches import Batches
from kvtui.live.content import Content
from kvtui.live.kvevents import Batch, Cleared, ContentMap, Removed, Stored, batch_of
from tests.live.publisher import publishing
from tests.shared import SHARED, needs_shared

MAIN = SHARED / "vllm-live" / "main"


def plain(value: Any) -> Any:
    """The recording's JSON has bytes as {"bytes": hex}."""
    if isinstance(value, dict):
        return (
            bytes.fromhex(value["bytes"])
            if set(value) == {"bytes"}
            else {k: plain(v) for k, v in value.items()}
        )
    return [plain(each) for each in value] if isinstance(value, list) else value


def recorded() -> list[tuple[int, Any]]:
    lines = (MAIN / "kv_events.jsonl").read_text().splitlines()
    return [(row["seq"], plain(row["batch"])) for row in map(json.loads, lines)]


def expected(batches: list[tuple[int, Any]]) -> Counter[int]:
    """Copies of each content, counted in another way."""
    copies: Counter[int] = Counter()
    for _, (_, events, _) in batches:
        for event in events:
            by = 1 if event["type"] == "BlockStored" else -1
            for each in event["block_hashes"]:
                copies[each] += by
    return +copies


class Told:
    """The map of a server that is told of messages."""

    def __init__(self, blocks: int = 40, **options: Any) -> None:
        self.content = Content(blocks)
        decode = lambda payload: batch_of(plain(json.loads(payload)))  # noqa: E731
        self.batches = Batches(self.content, decode=decode, **options)
        self.start, self.take = self.batches.start, self.batches.take
        self.map, self.taken = self.content.map, self.content.taken

    @property
    def stale(self) -> bool:
        return self.content.stale

    @property
    def lost(self) -> int:
        return self.batches.lost

    @property
    def unreadable(self) -> int:
        return self.batches.unreadable


def messages(batches: list[tuple[int, Any]]) -> list[tuple[int, bytes]]:
    return [(number, json.dumps(batch).encode()) for number, batch in batches]


@needs_shared
def test_the_recorded_stream() -> None:
    """389 batches of a real server with 40 usable blocks."""
    batches = recorded()
    view = Told()
    for number, payload in messages(batches):
        view.take(number, payload)
        assert view.map.cached <= 40
    copies = expected(batches)
    assert (len(batches), view.stale, view.lost, view.map.beyond) == (389, False, 0, 0)
    assert view.map.cached == copies.total()
    assert view.map.contents == len(copies)
    assert view.map.block_size == 32
    assert int(view.taken().sum()) == copies.total()


@needs_shared
def test_the_old_encoding_says_the_same() -> None:
    """Arrays that begin with the name, as up to vLLM 0.20."""
    batches = recorded()
    new, old = Told(), Told()
    for number, (when, events, rank) in batches:
        arrays = [
            [e["type"], e["block_hashes"], e["parent_block_hash"], [], e["block_size"], None, e["medium"]]
            if e["type"] == "BlockStored"
            else [e["type"], e["block_hashes"], e["medium"]]
            for e in events
        ]
        new.take(number, json.dumps([when, events, rank]).encode())
        old.take(number, json.dumps([when, arrays]).encode())
    assert (old.taken() == new.taken()).all()


@needs_shared
def test_a_gap_is_filled_by_the_replay_socket() -> None:
    all_messages = messages(recorded())
    asked: list[int] = []

    def replay(start: int) -> Iterator[tuple[int, bytes]]:
        asked.append(start)
        yield from all_messages[start:]

    view = Told(replay=replay)
    for number, payload in all_messages:
        if not 100 <= number < 130:
            view.take(number, payload)
    assert asked == [100]
    assert (view.lost, view.stale) == (0, False)
    assert view.map.cached == expected(recorded()).total()


@needs_shared
def test_a_gap_that_nobody_can_fill_is_told() -> None:
    view = Told(replay=lambda start: iter(()))
    for number, payload in messages(recorded()):
        if not 100 <= number < 130:
            view.take(number, payload)
    assert (view.lost, view.stale) == (30, True)
    assert view.map.cached <= 40


@needs_shared
def test_who_comes_late_is_told_what_the_server_still_knows() -> None:
    all_messages = messages(recorded())
    late = Told(replay=lambda start: iter(all_messages[start:300]))
    late.start()
    for number, payload in all_messages[290:]:  # some of them twice
        late.take(number, payload)
    assert not late.stale
    assert late.map.cached == expected(recorded()).total()
    blind = Told()
    blind.take(*all_messages[290])
    assert blind.stale


def message(number: int, when: float, *events: Any) -> tuple[int, bytes]:
    return number, json.dumps([when, list(events), 0]).encode()


def stored(*hashes: Any, medium: str | None = "GPU", **more: Any) -> dict[str, Any]:
    return {"type": "BlockStored", "block_hashes": hashes, "block_size": 16, "medium": medium, **more}


def removed(*hashes: Any) -> dict[str, Any]:
    return {"type": "BlockRemoved", "block_hashes": hashes, "medium": "GPU"}


def test_another_number_of_blocks_keeps_what_is_known() -> None:
    view = Told()
    view.take(*message(0, 1.0, stored(7, 8), stored(7)))
    view.map.resize(2)
    assert (view.map.cached, view.map.beyond, len(view.taken())) == (2, 1, 2)
    view.map.resize(5)
    assert view.taken().tolist() == [True, True, False, False, False]
    view.take(*message(1, 1.1, removed(7), removed(8), stored(9)))
    assert (view.map.cached, view.map.contents) == (2, 2)  # 7 was there twice, 8 had no cell


def test_two_copies_go_one_by_one() -> None:
    view = Told()
    view.take(*message(0, 1.0, stored(7), stored(7)))
    assert (view.map.cached, view.map.contents) == (2, 1)
    view.take(*message(1, 1.1, removed(7)))
    assert (view.map.cached, view.map.contents) == (1, 1)
    view.take(*message(2, 1.2, removed(7), removed(7)))
    assert view.map.cached == 0


def test_messages_seen_before_change_nothing() -> None:
    view = Told()
    for _ in range(3):
        view.take(*message(0, 1.0, stored(1)))
    assert view.map.cached == 1


def test_a_server_that_restarts_begins_with_an_empty_memory() -> None:
    view = Told()
    view.take(*message(0, 1.0, stored(1, 2)))
    view.take(*message(1, 1.1, stored(3)))
    view.take(*message(0, 9.0, stored(4)))
    assert (view.map.cached, view.stale) == (1, False)


def test_what_a_restarted_server_said_first_is_asked_for() -> None:
    anew = [message(0, 9.0, stored(4)), message(1, 9.1, stored(5)), message(2, 9.2, stored(6))]
    view = Told(replay=lambda start: iter(anew[start:]))
    for number in range(9):
        view.take(*message(number, 1.0 + number / 10, stored(number)))
    view.take(*anew[2])
    assert (view.map.cached, view.stale) == (3, False)


def test_what_is_elsewhere_or_unknown_is_passed_over() -> None:
    view = Told()
    view.take(
        *message(
            0,
            1.0,
            stored(1, medium="CPU"),
            stored(2, medium=None, token_ids=[5, 6], shape_of_the_future=1),
            {"type": "BlockMoved", "block_hashes": [2]},
            ["SomethingElse", 3],
            {
                "type": "BlockStored",
                "block_hashes": [{"bytes": "ff" * 32}],
                "block_size": 16,
                "medium": "GPU",
            },
        )
    )
    assert view.map.cached == 2


def test_clearing_makes_a_doubtful_map_sure() -> None:
    view = Told()
    view.take(*message(5, 1.0, stored(1)))
    assert view.stale
    view.take(*message(6, 1.1, {"type": "AllBlocksCleared"}, stored(2)))
    assert (view.stale, view.map.cached) == (False, 1)


ODD_GROUP = b'[1, [{"type": "BlockRemoved", "block_hashes": [1], "medium": "GPU", "group_idx": [0]}]]'


@pytest.mark.parametrize(
    "payload",
    [
        b"3",
        b"[]",
        b"[1, 2]",
        b'[1, [{"type": "BlockStored"}]]',
        b'[1, [["BlockStored", [[]]]]]',
        b"x",
        ODD_GROUP,
    ],
)
def test_what_cannot_be_read_makes_the_map_doubtful(payload: bytes) -> None:
    view = Told()
    view.take(0, b"[1.0, [], 0]")
    view.take(1, payload)
    assert (view.unreadable, view.stale) == (1, True)


def test_more_than_the_pool_holds_is_noticed() -> None:
    cells = ContentMap(2)
    cells.apply([Stored((1, 2, 3), 16)])
    assert (cells.cached, cells.beyond) == (2, 1)


CHANGES = st.lists(
    st.one_of(
        st.builds(Stored, st.lists(st.integers(0, 5), max_size=3).map(tuple), st.just(16)),
        st.builds(Removed, st.lists(st.integers(0, 5), max_size=3).map(tuple)),
        st.just(Cleared()),
    ),
    max_size=30,
)


@given(CHANGES)
def test_cells_are_never_lost(changes: list[Any]) -> None:
    cells = ContentMap(8)
    for change in changes:
        cells.apply([change])
        assert int(cells.taken().sum()) == cells.cached
        assert cells.contents <= cells.cached <= 8


@needs_shared
def test_over_a_real_socket() -> None:
    """The recorded bytes through ZeroMQ, with messages missing and a replay socket that has them."""
    zmq = pytest.importorskip("zmq")
    pytest.importorskip("msgpack")
    from kvtui.live.subscribe import Subscription

    frames = list(frames_of((MAIN / "kv_events.bin").read_bytes()))
    with publishing(zmq, frames) as (publish, endpoint, replay):
        subscription = Subscription(endpoint, replay=replay, blocks=40)
        try:
            for at, each in enumerate(frames):
                if not 50 < at < 90:
                    publish(each)
            wanted = expected(recorded()).total()
            until = time.monotonic() + 10
            while subscription.cells()[0].sum() != wanted or subscription.cells()[1]:
                assert time.monotonic() < until
                time.sleep(0.02)
            assert subscription.batches.lost == 0
        finally:
            subscription.close()


def test_a_batch_that_breaks_the_map_makes_it_doubtful_and_not_deaf() -> None:
    """Through ZeroMQ: a size of infinitely many tokens, then all cleared, which makes it sure again."""
    zmq = pytest.importorskip("zmq")
    msgpack = pytest.importorskip("msgpack")
    from kvtui.live.subscribe import Subscription

    context = zmq.Context()
    publisher = context.socket(zmq.XPUB)
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    subscription = Subscription(f"tcp://127.0.0.1:{port}", blocks=40)
    try:
        assert publisher.poll(10_000)  # it has subscribed
        batches = [[stored(1)], [stored(2) | {"block_size": float("inf")}], [{"type": "AllBlocksCleared"}]]
        for number, (events, stale) in enumerate(zip(batches, (False, True, False), strict=True)):
            payload = msgpack.packb([float(number), events, 0])
            publisher.send_multipart([b"", number.to_bytes(8, "big"), payload])
            until = time.monotonic() + 10
            while subscription.cells()[1] is not stale:
                assert time.monotonic() < until
                time.sleep(0.01)
    finally:
        subscription.close()
        context.destroy(linger=0)


def frames_of(data: bytes) -> Iterator[list[bytes]]:
    """What the recording keeps of each message: a count, then each frame behind its length."""
    at = 0

    def number() -> int:
        nonlocal at
        at += 4
        return int.from_bytes(data[at - 4 : at], "big")

    while at < len(data):
        parts = []
        for _ in range(number()):
            size = number()
            parts.append(data[at : at + size])
            at += size
        yield parts


def test_batches_are_unpacked() -> None:
    msgpack = pytest.importorskip("msgpack")
    from kvtui.live.kvevents import unpack

    payload = msgpack.packb(
        [1.5, [{"type": "BlockStored", "block_hashes": [2**64 - 1, b"x"], "block_size": 4}], 1]
    )
    assert unpack(payload) == Batch(1.5, (Stored((2**64 - 1, b"x"), 4),))
    with pytest.raises(ValueError, match="not a batch"):
        unpack(b"\xc1")
