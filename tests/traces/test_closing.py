"""When later turns are sent: what traces state, what the user asks for, and what is refused."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest

from kvtui.errors import ConfigError
from kvtui.traces import Workload
from kvtui.traces.convert import anonymous, convert
from kvtui.traces.following import SENT
from tests.traces.conftest import Read

MS = 1_000_000


def rows(*records: dict[str, Any]) -> str:
    return "".join(json.dumps({"input_length": 64, "output_length": 8, **r}) + "\n" for r in records)


DELAYS = rows(
    {"timestamp": 0, "session_id": "a"},
    {"timestamp": 30, "session_id": "b"},
    {"delay": 250, "session_id": "a"},
    {"delay": 0.5, "session_id": "b"},
)
SESSIONS = (
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    + "".join(
        f"{at},{session},1,m,{prompt},9,{prompt + 9},Conversation log\n"
        for at, session, prompt in ((0, "a", 10), (1, "b", 10), (5, "a", 30), (9, "a", 60))
    )
)


def before(workload: Workload) -> list[int]:
    assert workload.follows is not None
    return workload.follows.tolist()


def waits(workload: Workload) -> list[int]:
    assert workload.waits_ns is not None
    return workload.waits_ns.tolist()


def test_stated_delays_close_the_loop(read: Read) -> None:
    workload = read(DELAYS)
    assert workload.closed
    assert before(workload) == [-1, -1, 1, 0]
    assert waits(workload)[2:] == [MS // 2, 250 * MS]
    assert SENT in workload.assumed


def test_recorded_turns_arrive_as_if_answers_took_no_time(read: Read) -> None:
    workload = read(DELAYS, turns="recorded")
    assert not workload.closed
    assert workload.arrival_ns.tolist() == [0, 30 * MS, 30 * MS + MS // 2, 250 * MS]
    assert any("no time" in sentence for sentence in workload.assumed)


def test_a_row_can_wait_for_others(read: Read) -> None:
    workload = read(rows(
        {"timestamp": 0, "request_id": "x"},
        {"timestamp": 5, "request_id": "y"},
        {"wait_for": ["x", "y"], "tool_wait_ms": 40, "request_id": "z"},
    ))  # fmt: skip
    assert before(workload) == [-1, -1, 1]
    assert waits(workload)[2] == 40 * MS


def test_calls_of_an_agent_wait_for_their_tools(read: Read) -> None:
    calls = [{"input_toks": 10, "output_toks": 3, "tool_duration_ns": t} for t in (7, 9, 11)]
    workload = read(json.dumps({"session_id": "s", "arrival_time_ns": 100, "sub_requests": calls}))
    assert before(workload) == [-1, 0, 1]
    assert waits(workload)[1:] == [7, 9]
    assert workload.closed


def test_recorded_sessions_close_only_when_asked(read: Read) -> None:
    assert not read(SESSIONS).closed
    workload = read(SESSIONS, think_s=2)
    assert workload.closed
    assert before(workload) == [-1, -1, 0, 2]
    assert set(waits(workload)) == {2000 * MS}
    assert workload.assumed[-1] == "a turn is sent 2 s after the turn before has ended, as asked"


@pytest.mark.parametrize(
    ("content", "wanted", "message"),
    [
        (SESSIONS, {"turns": "closed"}, "how long people or tools took"),
        ("prompt_tokens,output_tokens\n1,2\n3,4\n", {"turns": "closed"}, "belong to one conversation"),
        ("prompt_tokens,output_tokens\n1,2\n3,4\n", {"think_s": 1.0}, "belong to one conversation"),
        (SESSIONS, {"clients": 3, "rate": 2.0}, "do not go together"),
        (SESSIONS, {"think_s": -1.0}, "think"),
        (SESSIONS, {"clients": 0}, "send nothing"),
    ],
)
def test_refusals(read: Read, content: str, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(content, **wanted)


def test_clients_wait_where_waits_are_known(read: Read) -> None:
    workload = read(DELAYS, clients=2)
    assert (workload.clients, workload.closed) == (2, True)
    apart = read(SESSIONS, clients=2)
    assert (apart.clients, apart.closed) == (2, False)
    assert "a conversation of its own" in apart.assumed[-1]


def test_faster_arrivals_mean_shorter_waits(read: Read) -> None:
    assert waits(read(DELAYS, scale_rate=2))[3] == 125 * MS


def test_a_window_forgets_turns_outside(read: Read) -> None:
    workload = read(DELAYS, start_s=0.03)
    assert before(workload) == [-1, 0, -1]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_the_first_rows_keep_their_turns(read: Read, limit: int) -> None:
    assert before(read(DELAYS).head(limit)) == [-1, -1, 1, 0][:limit]


@pytest.mark.parametrize("change", [lambda workload: workload, anonymous])
def test_the_native_format_keeps_closed_loops(read: Read, change: Any) -> None:
    workload, stream = read(DELAYS), io.StringIO()
    assert convert(change(workload), stream, to="kvtui") == []
    again = read(stream.getvalue(), name="again.jsonl")
    assert before(again) == before(workload)
    assert waits(again)[2:] == waits(workload)[2:]
    assert again.closed
    assert any("which turn follows" in lost for lost in convert(workload, io.StringIO(), to="azure"))


def test_files_of_a_directory_keep_their_turns(read: Read, tmp_path: Any) -> None:
    from kvtui.traces import load

    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.jsonl").write_text(DELAYS)
    workload = load(str(folder))
    assert workload.closed
    follows = np.array(before(workload))
    assert (follows >= 0).sum() == 4
    assert (follows < np.arange(8)).all()
