"""Requests derived from KV events: of a real server whose requests are known, of simulated ones, by hand."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvtui
from kvtui.errors import ConfigError
from kvtui.live.kvevents import Batch, Change, Cleared, Removed, Stored, batch_of
from kvtui.live.traffic.derived.blocks import Blocks
from kvtui.live.traffic.derived.requests import Derivation, Derived
from kvtui.live.traffic.derived.rows import row_of
from kvtui.live.traffic.derived.source import KvEvents
from kvtui.live.traffic.tracefile import TraceFile
from tests.cli.run import complaint
from tests.live.kvworld import World
from tests.live.test_kvevents import MAIN, frames_of, plain, recorded
from tests.shared import needs_shared

SIZE = 16
Row = dict[str, Any]


def derived(batches: list[tuple[int, Batch]]) -> list[Derived]:
    found: list[Derived] = []
    derivation = Derivation(found.append)
    for number, batch in batches:
        derivation.take(number, batch)
    derivation.end()
    return found


def rows(batches: list[tuple[int, Batch]], *, size: int = SIZE) -> list[Row]:
    return [row_of(each, block_size=size, start_s=0.0) for each in derived(batches)]


def holds(row: Row, prompt: int, output: int) -> bool:
    """Whether the truth is within the bounds."""
    (least, most), (fewest, longest) = row["prompt_bounds"], row["output_bounds"]
    return least <= prompt <= most and fewest <= output <= longest


# A real server, 40 blocks of 32 tokens, 45 preemptions.


def answered() -> list[Row]:
    """Requests that ran, with what can be seen of them: whole blocks of prompt and output."""
    asked = map(json.loads, (MAIN / "requests.jsonl").read_text().splitlines())
    return [row | {"output": _output(row)} for row in asked if row["status"] == 200]


def _output(row: Row) -> int:
    """Of each of its samples."""
    whole: int = row["usage"]["completion_tokens"] if "usage" in row else row["chunks"]
    return whole // row.get("params", {}).get("n", 1)


def prefixes() -> dict[int, tuple[int, ...]]:
    """The tokens that a hash stands for."""
    known: dict[int | None, tuple[int, ...]] = {None: ()}
    for _, (_, events, _) in recorded():
        for event in events:
            if event["type"] != "BlockStored":
                continue
            before = known[event["parent_block_hash"]]
            for at, each in enumerate(event["block_hashes"], start=1):
                known[each] = before + tuple(event["token_ids"][: at * event["block_size"]])
    return {key: tokens for key, tokens in known.items() if key is not None}


@needs_shared
def test_the_requests_of_a_real_server() -> None:
    """Found: all that stored a block. Lengths are within their bounds and right on the average."""
    found: list[Derived] = []
    derivation = Derivation(found.append)
    for number, batch in recorded():
        derivation.take(number, batch_of(batch))
    derivation.end()
    tokens, asked = prefixes(), answered()
    key_of = {block.number: key for key, block in derivation.blocks._known.items()}
    errors: dict[str, list[int]] = {"prompt": [], "output": []}
    unmet = {row["i"] for row in asked}
    for each in found:
        known = tokens[key_of[each.tip.number]]
        start = next(
            row
            for row in asked
            if tuple(row["prompt"][: len(known)]) == known[: row["prompt_len"]]
            and (row["i"] in unmet or row["prompt_len"] == 64)
        )
        unmet.discard(start["i"])
        row = row_of(each, block_size=32, start_s=0.0)
        assert holds(row, start["prompt_len"], start["output"]), (start["i"], row)
        errors["prompt"].append(row["prompt"] - start["prompt_len"])
        errors["output"].append(row["output"] - start["output"])
    assert (len(asked), len(found)) == (82, 80)
    assert unmet <= {1, 78, 79, 82}  # two prompts like the first; two that fill no block of their own
    for name, most in (("prompt", 8), ("output", 12)):
        assert fmean(map(abs, errors[name])) < most
        assert abs(fmean(errors[name])) < 2


@needs_shared
def test_every_encoding_says_the_same() -> None:
    """Arrays and maps; hashes as numbers and as bytes."""

    def renamed(key: int | None) -> bytes | None:
        return None if key is None else key.to_bytes(32, "big")

    maps, arrays = [], []
    for number, (when, events, rank) in recorded():
        maps.append((number, batch_of([when, events, rank])))
        old = [
            [
                *(event["type"], [renamed(each) for each in event["block_hashes"]]),
                *(renamed(event["parent_block_hash"]), [], event["block_size"], None, event["medium"]),
            ]
            if event["type"] == "BlockStored"
            else [event["type"], [renamed(each) for each in event["block_hashes"]], event["medium"]]
            for event in events
        ]
        arrays.append((number, batch_of([when, old])))
    assert rows(arrays, size=32) == rows(maps, size=32)
    assert len(rows(maps, size=32)) == 80


# Simulated servers: the truth is known of each.


@pytest.mark.parametrize(
    ("trace", "settings", "right", "off"),
    [
        ("chat", {}, 1.0, 3.0),  # with preemptions
        ("chat", {"slots": 6000}, 0.99, 2.5),  # 423 of them
        ("shared-prefix", {"slots": 5000, "max_num_batched_tokens": 512}, 0.99, 2.5),
        ("burst", {}, 1.0, 5.0),
        ("code", {"max_num_batched_tokens": 512, "block_size": 32}, 0.99, 12.0),
    ],
)
def test_simulated_servers(trace: str, settings: Row, right: float, off: float) -> None:
    world = World(kvtui.load(trace, limit=200), **settings).run()
    found: dict[int, list[Row]] = {}
    over: list[Derived] = []
    derivation = Derivation(over.append)
    for number, batch in world.batches:
        derivation.take(number, batch)
    derivation.end()
    key_of: dict[int, Any] = {block.number: key for key, block in derivation.blocks._known.items()}
    for each in over:
        owner = world.owners.get(key_of[each.tip.number])
        if owner is not None:
            found.setdefault(owner, []).append(row_of(each, block_size=world.size, start_s=0.0))
    assert found.keys() == set(world.owners.values())
    good = [len(own) == 1 and holds(own[0], *world.truth[number]) for number, own in found.items()]
    assert fmean(good) >= right
    assert fmean(abs(own[0]["prompt"] - world.truth[number][0]) for number, own in found.items()) < off


# By hand.


def batches(*told: tuple[float, list[Change]], first: int = 0) -> list[tuple[int, Batch]]:
    return [(number, Batch(time_s, tuple(told))) for number, (time_s, told) in enumerate(told, start=first)]


LARGE = (0.0, [Stored(tuple(range(900, 930)), SIZE)])  # beside which no other step is full


def stored(*hashes: int, on: int | None = None) -> Stored:
    return Stored(hashes, SIZE, 0, on)


def test_a_prompt_and_its_output() -> None:
    """48 to 63 tokens; a block of 16 takes 1.6 s, and the first was there after 0.4: 4 of it were output."""
    told = batches(LARGE, (5, [stored(1, 2, 3)]), (5.4, [stored(4, on=3)]), (7, [stored(5, on=4)]))
    assert rows(told)[1] == {
        "at_ms": 5000.0,
        "prompt": 60,
        "output": 28,
        "cached": 0,
        "prompt_bounds": [48, 63],
        "output_bounds": [18, 48],
        "ids": [[30, 5]],
        "identified": 80,
        "counted": "blocks",
    }


def test_what_was_cached_is_part_of_the_prompt() -> None:
    first, second = rows(batches((1, [stored(1, 2, 3)]), (2, [stored(10, 11, on=2)])))
    assert second["prompt_bounds"] == [64, 79]
    assert second["cached"] == 32
    assert (first["ids"], second["ids"]) == ([[0, 3]], [[0, 2], [3, 2]])


def test_chunks_are_one_prompt() -> None:
    """Of a prefill that comes step by step, beside one that is let in meanwhile."""
    told = batches(
        (1, [stored(1, 2)]), (1.1, [stored(3, 4, on=2)]), (1.2, [stored(5, 6, on=4), stored(20, 21)])
    )
    assert [row["prompt_bounds"] for row in rows(told)] == [[96, 111], [32, 47]]


def test_a_turn_that_goes_on_where_another_ended_is_another() -> None:
    told = batches(
        (1, [stored(1, 2, 3)]),
        (2, [stored(4, on=3)]),
        (3, [stored(5, on=4)]),
        (9, [stored(6, 7, 8, on=5)]),
    )
    first, second = rows(told)
    assert (first["identified"], second["cached"], second["prompt_bounds"]) == (80, 80, [128, 143])


def test_equal_prompts_at_once_are_two() -> None:
    told = batches(
        (1, [stored(1, 2), stored(2, on=1)]), (2, [stored(3, on=2)]), (3, [stored(4, on=2), stored(5, on=3)])
    )
    assert sorted(row["identified"] for row in rows(told)) == [48, 64]


def test_who_is_preempted_comes_back_as_the_same() -> None:
    told = batches(
        LARGE,
        (1, [stored(1, 2)]),
        (1.5, [stored(3, on=2)]),
        (2, [Removed((3,)), Removed((2,)), Removed((1,)), stored(8, 9)]),
        (3, [stored(1, 2, 3)]),
        (4, [stored(4, on=3)]),
    )
    _, other, first = rows(told)
    assert (first["at_ms"], first["prompt_bounds"], first["identified"]) == (1000.0, [32, 47], 64)
    assert other["ids"] == [[33, 2]]


def test_a_turn_that_stores_one_block_more_than_was_evicted_is_another() -> None:
    """Decodes take a second a block: who is evicted after three had ended."""
    told = batches(
        LARGE,
        (1, [stored(1, 2)]),
        (2, [stored(3, on=2)]),
        (3, [stored(4, on=3)]),
        (6, [Removed((4,)), Removed((3,)), Removed((2,)), Removed((1,))]),
        (7, [stored(1, 2, 3, 4, 5)]),
    )
    assert [row["prompt_bounds"] for row in rows(told)[1:]] == [[32, 47], [80, 95]]


def test_the_same_prompt_long_after_is_another() -> None:
    away = [Removed((2,)), Removed((1,))]
    told = batches((1, [stored(1, 2)]), (2, away), (100, [stored(1, 2)]))
    assert [row["at_ms"] for row in rows(told)] == [1000.0, 100_000.0]
    assert rows(told)[0]["ids"] == rows(told)[1]["ids"]


def test_what_hangs_on_blocks_that_nobody_saw_has_no_known_length() -> None:
    found: list[Derived] = []
    derivation = Derivation(found.append)
    for number, batch in batches(
        (1, [stored(5, on=4)]),  # goes on with something from before
        (2, [stored(8, 9, on=7)]),
        (3, [stored(10, on=9), stored(6, on=5)]),
        first=40,
    ):
        derivation.take(number, batch)
    derivation.end()
    assert derivation.strangers == 2
    assert [row_of(each, block_size=SIZE, start_s=0) for each in found] == [
        {"at_ms": 2000.0, "prompt": None, "output": 17, "counted": "blocks"}
    ]


def test_who_is_at_work_when_events_are_missing_is_marked() -> None:
    found: list[Derived] = []
    derivation = Derivation(found.append)
    for number, batch in batches((1, [stored(1, 2)])):
        derivation.take(number, batch)
    derivation.gap()
    derivation.take(5, Batch(2, (stored(8, 9),)))
    derivation.end()
    assert [row_of(each, block_size=SIZE, start_s=0).get("cut") for each in found] == [True, None]


def test_what_is_cleared_or_started_anew_has_ended() -> None:
    found: list[Derived] = []
    derivation = Derivation(found.append)
    derivation.take(0, Batch(1, (stored(1, 2), Cleared(), stored(1, 2))))
    derivation.anew()
    derivation.take(0, Batch(2, (stored(1, 2),)))
    derivation.end()
    assert [each.tip.numbers() for each in found] == [[0, 1], [0, 1], [2, 3]]


def test_other_kinds_of_layers_count_once() -> None:
    told = batches((1, [stored(1, 2), Stored((1, 2), 64, 1), Removed((1,), 1)]))
    assert len(rows(told)) == 1


CHANGES = st.lists(
    st.one_of(
        st.builds(
            lambda hashes, on: stored(*hashes, on=on),
            st.lists(st.integers(0, 9), max_size=3),
            st.none() | st.integers(0, 9),
        ),
        st.builds(Removed, st.lists(st.integers(0, 9), max_size=3).map(tuple)),
        st.just(Cleared()),
    ),
    max_size=4,
)


@given(st.lists(st.tuples(st.integers(0, 99), CHANGES), max_size=8))
def test_whatever_comes_rows_can_be_read(told: list[tuple[float, list[Change]]]) -> None:
    """Hashes that hang on themselves included: nobody publishes that, and it must not hang us."""
    for row in rows(batches(*told)):
        if row["prompt"] is not None:
            (least, most), (fewest, longest) = row["prompt_bounds"], row["output_bounds"]
            assert 1 <= least <= row["prompt"] <= most
            assert 1 <= fewest <= longest
            assert row["identified"] <= row["prompt"] + row["output"]
            assert sum(count for _, count in row["ids"]) * SIZE == row["identified"]


def test_what_is_remembered_is_bounded() -> None:
    blocks = Blocks(most=100)
    blocks.store(None, [0])
    for start in range(1, 5001, 5):
        blocks.store(blocks.parent(0), range(start, start + 5))
    assert len(blocks) == 100
    assert blocks.parent(0).depth is not None  # type: ignore[union-attr]  # met again and again


# As a trace.


@needs_shared
def test_a_trace_over_a_real_socket(tmp_path: Path) -> None:
    """The recorded bytes through ZeroMQ, some of them before anybody listened."""
    zmq = pytest.importorskip("zmq")
    pytest.importorskip("msgpack")
    from tests.live.publisher import publishing

    path = tmp_path / "t.jsonl"
    trace = TraceFile(path, about="derived from KV events")
    events = KvEvents(trace)

    async def serve(publish: Any, endpoint: str, replay: str) -> None:
        ready = asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(events.serve(endpoint, replay=replay, topic="", ready=ready))
        until = time.monotonic() + 10
        while events.seen < len(frames):
            assert time.monotonic() < until
            publish(frames[-1])
            await asyncio.sleep(0.02)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    frames = list(frames_of((MAIN / "kv_events.bin").read_bytes()))
    with publishing(zmq, frames) as (publish, endpoint, replay):
        asyncio.run(serve(publish, endpoint, replay))
    trace.close()
    header, *lines, heard = map(json.loads, path.read_text().splitlines())
    assert (header["derived"], header["unit"]) == ("kv events", 32)
    assert heard == {"heard": {"batches": 389, "lost": 0, "unreadable": 0, "blocks_of_nobody": 0}}
    assert lines == [
        {**row, "at_ms": pytest.approx(row["at_ms"] - 1000 * recorded()[0][1][0], abs=0.01)}
        for row in rows([(number, batch_of(plain(batch))) for number, batch in recorded()], size=32)
    ]
    assert not {"token_ids", "block_hashes"} & {key for line in lines for key in line}
    workload = kvtui.load(path)
    assert (len(workload), workload.unit) == (80, 32)
    assert "derived from KV events" in " ".join(workload.assumed)


def test_nothing_heard_is_a_trace_without_requests(tmp_path: Path) -> None:
    trace = TraceFile(tmp_path / "t.jsonl", about="")
    KvEvents(trace).finish(taken=0, lost=0, unreadable=0)
    trace.close()
    with pytest.raises(kvtui.KvtuiError):
        kvtui.load(tmp_path / "t.jsonl")


def test_an_endpoint_that_makes_no_sense_is_told(tmp_path: Path) -> None:
    pytest.importorskip("zmq")
    pytest.importorskip("msgpack")
    wrong = complaint("record", "--kv-events", "localhost:5557", "-o", str(tmp_path / "t.jsonl"))
    assert "is no place for events" in wrong
    assert not (tmp_path / "t.jsonl").exists()
    both = complaint("record", "--kv-events", "tcp://h:1", "--otlp", "h:2", "-o", str(tmp_path / "t.jsonl"))
    assert "give only one of --upstream" in both


def test_without_the_packages_it_says_which(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "msgpack", None)
    trace = TraceFile(tmp_path / "t.jsonl", about="")

    async def serve() -> None:
        ready = asyncio.get_running_loop().create_future()
        await KvEvents(trace).serve("tcp://127.0.0.1:1", replay=None, topic="", ready=ready)

    with pytest.raises(ConfigError, match="msgpack"):
        asyncio.run(serve())
    trace.close()
