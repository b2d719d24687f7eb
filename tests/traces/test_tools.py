"""What tools of the field write, re-made by hand: one small file of each kind, and what it must become."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kvtui.errors import TraceError
from kvtui.traces import Workload, load
from kvtui.traces.info import hit_rate_ceiling, info
from tests.traces.conftest import Read

S = 10**9


def lines(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def lengths(workload: Workload) -> list[tuple[int, int]]:
    return list(zip(workload.prompt.tolist(), workload.output.tolist(), strict=True))


def chains(workload: Workload) -> list[list[int]]:
    return [part.tolist() for part in np.split(workload.chain, workload.chain_start[1:-1])]


def left_out(workload: Workload) -> dict[str, int]:
    return {group.reason: group.count for group in workload.left_out}


# Conversations as text


TALK = [
    {
        "id": "one",
        "conversations": [
            {"from": "gpt", "value": "welcome"},
            {"from": "human", "value": "a b c"},
            {"from": "gpt", "value": "d e"},
            {"from": "human", "value": "f"},
            {"from": "gpt", "value": "g"},
        ],
    },
    {"id": "two", "conversations": []},
    {"id": "three", "conversations": [{"from": "human", "value": "nobody answers"}]},
]


def test_every_answered_question_is_a_request(read: Read) -> None:
    workload = read(json.dumps(TALK))
    assert workload.format == "sharegpt"
    assert lengths(workload) == [(4, 2), (7, 1)]
    assert left_out(workload) == {"a conversation without a question that has an answer": 2}
    assert workload.estimated
    assert info(workload)["span_s"] is None


def test_conversations_without_answers_leave_one_sentence(read: Read) -> None:
    with pytest.raises(TraceError, match="no request remains: 2 rows left out: a conversation without"):
        read(json.dumps(TALK[1:]))


def test_turns_and_shared_openings_are_prefixes(read: Read) -> None:
    opening = " ".join(["word"] * 32)
    talks = [
        {"conversation": [{"role": "system", "content": opening}, *turns]}
        for turns in (
            [
                {"role": "user", "content": "why"},
                {"role": "assistant", "content": " ".join(["because"] * 40)},
                {"role": "user", "content": "and"},
                {"role": "assistant", "content": "so"},
            ],
            [{"role": "user", "content": "how"}, {"role": "assistant", "content": "thus"}],
        )
    ]
    first, second, third = chains(workload := read(lines(*talks)))
    assert lengths(workload) == [(33, 40), (74, 1), (33, 1)]
    assert second == first  # 64 of 73 tokens, and those of 75, are whole units
    assert third == first[:2]


@pytest.mark.parametrize(
    ("roles", "key"),
    [(("HUMAN", "GPT"), "conversations"), (("user", "bot"), "items"), (("User", "ChatGPT"), "messages")],
)
def test_roles_go_by_many_names(read: Read, roles: tuple[str, str], key: str) -> None:
    turns = [{"from": roles[0], "value": "a b"}, {"from": roles[1], "value": "c"}]
    assert lengths(read(lines({key: turns}))) == [(2, 1)]


def test_tools_answer_inside_a_turn(read: Read) -> None:
    turns = [
        {"from": "human", "value": "a"},
        {"from": "tool", "value": "b b"},
        {"from": "gpt", "value": "c"},
        {"from": "gpt", "value": "d"},
    ]
    assert lengths(read(lines({"conversations": turns}))) == [(3, 1)]


def test_wildchat_has_times(read: Read) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    rows = [
        {"conversation_hash": str(n), "timestamp": f"2023-04-09T00:00:0{n}Z", "conversation": turns}
        for n in range(3)
    ]
    workload = read(lines(*rows))
    assert workload.format == "wildchat"
    assert workload.arrival_ns.tolist() == [0, S, 2 * S]


def test_lmsys_has_none(read: Read) -> None:
    turns = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    assert read(lines({"conversation_id": "x", "conversation": turns})).format == "lmsys-chat"


@pytest.mark.parametrize("text", ["messages", "prompt"])
def test_counts_are_preferred_to_text(read: Read, text: str) -> None:
    turns = [{"role": "user", "content": "a b"}, {"role": "assistant", "content": "c"}]
    value: object = turns if text == "messages" else "a b"
    row = {text: value, "usage": {"prompt_tokens": 40, "completion_tokens": 5}, "output_tokens": 5}
    workload = read(lines(row))
    assert lengths(workload) == [(40, 5)]
    assert not workload.estimated


def test_messages_without_an_answer_are_a_request(read: Read) -> None:
    turns = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c d"},
    ]
    with pytest.raises(TraceError, match="'messages' holds text, and there are no token counts"):
        read(lines({"messages": turns, "session_id": "s", "timestamp": 1}))
    assert lengths(read(lines({"messages": turns, "max_tokens": 9}))) == [(4, 9)]


# Benchmark results


RUN = {
    "backend": "vllm",
    "request_rate": 2.0,
    "input_lens": [100, 200, 300],
    "output_lens": [10, 0, 30],
    "start_times": [353399.5, 353400.0, 353402.5],
    "errors": ["", "boom", ""],
}


def test_bench_results_start_at_their_start_times(read: Read) -> None:
    workload = read(json.dumps(RUN))
    assert workload.format == "vllm-bench"
    assert lengths(workload) == [(100, 10), (300, 30)]
    assert workload.arrival_ns.tolist() == [0, 3 * S]
    assert left_out(workload) == {"no output": 1}
    assert lengths(read(json.dumps(RUN), keep_failed=True))[1] == (200, 0)


def test_bench_answer_that_broke_off_is_left_out(read: Read) -> None:
    run = RUN | {"output_lens": [10, 20, 30]}
    assert left_out(read(json.dumps(run))) == {"the benchmark recorded an error": 1}
    assert len(read(json.dumps(run), keep_failed=True)) == 3


@pytest.mark.parametrize(("rate", "arrivals"), [(2.0, [0, S // 2, S]), ("inf", [0, 0, 0])])
def test_bench_results_without_start_times(read: Read, rate: object, arrivals: list[int]) -> None:
    run = {key: value for key, value in RUN.items() if key not in ("start_times", "errors")}
    workload = read(json.dumps(run | {"request_rate": rate, "output_lens": [1, 2, 3]}))
    assert workload.arrival_ns.tolist() == arrivals
    assert workload.timed == (rate == 2.0)


def test_runs_appended_to_one_file_are_chosen(read: Read) -> None:
    text = lines(RUN, RUN | {"input_lens": [7, 8, 9]})
    assert "run 1 of 2 in the file: another one with --run N" in read(text).assumed
    assert read(text, run=2).prompt.tolist() == [7, 9]
    with pytest.raises(TraceError, match="there is no run 3: the file holds 2 runs"):
        read(text, run=3)


def test_sglang_has_lengths_only(read: Read) -> None:
    run = {key: value for key, value in RUN.items() if key != "start_times"}
    workload = read(lines(run | {"total_output_tokens_retokenized": 40}))
    assert (workload.format, workload.timed) == ("sglang-bench", False)
    assert "the benchmark sent 2 requests a second: --rate 2 spaces them so" in workload.assumed


def record(start: int, **changes: object) -> dict[str, object]:
    return {
        "metadata": {"conversation_id": "c", "request_start_ns": start, "benchmark_phase": "profiling"},
        "metrics": {"input_sequence_length": {"value": 40}, "output_sequence_length": {"value": 5}},
        "error": None,
    } | changes


def test_aiperf_records(read: Read) -> None:
    base = 1_790_000_000 * S
    cancelled = record(base + 3)
    cancelled["metadata"] = {"request_start_ns": base, "was_cancelled": True}
    warm = record(base)
    warm["metadata"] = {"request_start_ns": base, "benchmark_phase": "warmup"}
    workload = read(
        lines(record(base + 7), record(base + 2), record(base, error={"code": 500}), cancelled, warm)
    )
    assert workload.arrival_ns.tolist() == [0, 5]
    assert left_out(workload) == {
        "the benchmark recorded an error": 1,
        "cancelled": 1,
        "not in the profiling phase": 1,
    }


# Agents


def agent(*requests: object, **more: object) -> dict[str, object]:
    return {"id": "x", "block_size": 64, "hash_id_scope": "local", "requests": list(requests)} | more


def call(t: float, tokens: int, *ids: int) -> dict[str, object]:
    return {"t": t, "type": "n", "in": tokens, "out": 9, "hash_ids": list(ids)}


def test_sub_agents_have_clocks_of_their_own(read: Read) -> None:
    inner = {"t": 10.25, "type": "subagent", "requests": [call(0, 70, 1), call(1.5, 130, 1, 2)]}
    workload = read(json.dumps(agent(call(0.0, 64, 1), inner, call(11, 200, 1, 3, 4))))
    assert workload.arrival_ns.tolist() == [0, 10_250_000_000, 11 * S, 11_750_000_000]
    assert workload.prompt.tolist() == [64, 70, 200, 130]
    assert workload.identified.tolist() == [64, 64, 192, 128]
    assert hit_rate_ceiling(workload) == (64 * 3) / 464


def test_local_ids_mean_nothing_in_another_conversation(read: Read) -> None:
    two = lines(agent(call(0, 128, 1, 2)), agent(call(0, 128, 1, 2)))
    assert hit_rate_ceiling(read(two)) == 0
    assert hit_rate_ceiling(read(two.replace("local", "global"))) == 0.5
    assert "2 conversations, all from time 0" in read(two).assumed


def test_block_sizes_of_conversations_may_not_differ(read: Read) -> None:
    with pytest.raises(TraceError, match="block_size is 32 here and 64 before") as caught:
        read(lines(agent(call(0, 128, 1, 2)), agent(call(0, 64, 1, 2), block_size=32)))
    assert caught.value.line == 2


def test_lmcache_agents_share_their_leading_text(read: Read) -> None:
    system = " ".join(["you"] * 16)
    rows = [
        {
            "timestamp": 1_790_000_000_000_000 + at,
            "input": f"{system} go on",
            "output": "yes",
            "session_id": "s",
        }
        for at in (2_000_000, 0)
    ]
    workload = read(lines(*rows))
    assert workload.format == "lmcache-agent"
    assert workload.arrival_ns.tolist() == [0, 2 * S]
    assert lengths(workload) == [(18, 1), (18, 1)]
    assert hit_rate_ceiling(workload) == 16 / 36


def test_tracelab_rounds_arrive_at_their_latest_input(read: Read) -> None:
    def event(kind: str, second: int) -> dict[str, str]:
        return {"event_type": kind, "timestamp": f"2026-02-01T00:00:{second:02}Z"}

    rows = [
        {
            "session_id": "s",
            "round_index": n,
            "input_tokens_total": 64 * (n + 1),
            "prefix_tokens": 0,
            "output_tokens": 16,
            "timing_events": [event("user_input", n), event("tool_input", 5 * n), event("output", 50)],
        }
        for n in range(2)
    ]
    workload = read(lines(*rows))
    assert workload.format == "tracelab"
    assert workload.arrival_ns.tolist() == [0, 5 * S]
    assert hit_rate_ceiling(workload) == 80 / 192


# Mooncake's relatives


def test_turns_wait_for_the_turn_before(read: Read) -> None:
    workload = read(
        lines(
            {"timestamp": 500, "session_id": "a", "input_length": 32, "output_length": 16},
            {"delay": 250.5, "session_id": "a", "input_length": 64, "output_length": 16},
            {"timestamp": 600, "session_id": "b", "input_length": 32, "output_length": 16},
        )
    )
    assert workload.format == "mooncake-turns"
    assert workload.arrival_ns.tolist() == [0, 100_000_000, 250_500_000]
    assert hit_rate_ceiling(workload) == 48 / 128


def test_delta_rows_hold_new_tokens_only(read: Read) -> None:
    rows = lines(
        {"timestamp": 0, "session_id": "a", "input_length": 100, "output_length": 20},
        {"delay": 10, "session_id": "a", "input_length": 8, "output_length": 20},
    )
    assert read(rows).prompt.tolist() == [100, 8]
    workload = read(rows, delta=True)
    assert workload.prompt.tolist() == [100, 128]
    assert hit_rate_ceiling(workload) == 112 / 228


def test_agent_rows_wait_for_requests_and_tools(read: Read) -> None:
    workload = read(
        lines(
            {"request_id": "r1", "timestamp": 0, "input_length": 9, "output_length": 9},
            {
                "request_id": "r2",
                "wait_for": ["r1"],
                "tool_wait_ms": 40,
                "input_length": 8,
                "output_length": 9,
            },
            {"request_id": "r3", "wait_for": ["r1", "r2"], "input_length": 7, "output_length": 9},
        )
    )
    assert dict(zip(workload.prompt.tolist(), workload.arrival_ns.tolist(), strict=True)) == {
        9: 0,
        8: 40_000_000,
        7: 40_000_000,
    }


def test_text_rows_are_estimated(read: Read) -> None:
    workload = read(
        lines(
            {"timestamp": 0, "text_input": "one two three", "output_length": 4},
            {"timestamp": 1, "messages": [{"role": "user", "content": "one two"}], "output_length": 4},
            {"timestamp": 2, "input_length": 50, "output_length": 4},
        )
    )
    assert workload.prompt.tolist() == [3, 2, 50]
    assert workload.estimated


def test_urgency_is_kept(read: Read) -> None:
    workload = read(
        lines(
            {"timestamp": 5, "priority": 3, "input_length": 9, "output_length": 9},
            {"timestamp": 0, "priority": 1, "input_length": 9, "output_length": 9},
        )
    )
    assert workload.priority is not None
    assert workload.priority.tolist() == [1, 3]


def test_dynamo_request_traces(read: Read) -> None:
    def row(at: int, tokens: int, hashes: list[int], **more: object) -> dict[str, object]:
        return {
            "schema": "dynamo.request.trace.v1",
            "event_type": "request_end",
            "request": {
                "request_received_ms": 1_790_000_000_000 + at,
                "input_tokens": tokens,
                "output_tokens": 6,
                "replay": {"trace_block_size": 32, "input_length": tokens, "input_sequence_hashes": hashes},
            },
        } | more

    big = 2**64 - 5
    workload = read(lines(row(0, 64, [big, 7]), row(4, 70, [big, 8, 9]), row(9, 1, [], event_type="other")))
    assert (workload.format, workload.unit) == ("dynamo", 32)
    assert workload.arrival_ns.tolist() == [0, 4_000_000]
    assert hit_rate_ceiling(workload) == 32 / 134
    assert left_out(workload) == {"another kind of event": 1}


RAG = {
    "timestamp": "27",
    "input_length": 40,
    "output_length": 5,
    "hash_ids": {"sys_prompt": [1], "passages_ids": [5], "history": [], "web_search": [], "user_input": [9]},
    "session_id": "s",
}


def test_ragpulse_uses_the_lengths_beside_it(read: Read, tmp_path: Path) -> None:
    other = RAG | {"timestamp": "28", "hash_ids": {"sys_prompt": [1], "passages_ids": [5], "user_input": [8]}}
    alone = read(lines(RAG, other))
    assert (alone.format, alone.unit) == ("ragpulse", 0)
    assert "not beside the trace" in alone.assumed[0]
    (tmp_path / "1_sys_prompt.jsonl").write_text(lines({"sys_prompt_id": 1, "token_length": 16}))
    (tmp_path / "2_passages.jsonl").write_text(lines({"passages_id": 5, "token_length": 16}, "noise"))
    (tmp_path / "4_user_input.jsonl").write_text(
        lines({"user_id": 9, "token_length": 8}, {"user_id": 8, "token_length": 8})
    )
    workload = read(lines(RAG, other))
    assert workload.arrival_ns.tolist() == [0, S]
    assert hit_rate_ceiling(workload) == 32 / 80


# Simulators


def test_aibrix_instants(read: Read) -> None:
    workload = read(
        lines(
            {"timestamp": 0, "requests": [{"prompt_length": 9, "output_length": 2, "session_id": "a"}]},
            {
                "timestamp": 1500,
                "requests": [
                    {"Prompt Length": 30, "Output Length": 2},
                    {"prompt": "three small words", "output_length": 2},
                ],
            },
        )
    )
    assert workload.format == "aibrix"
    assert workload.prompt.tolist() == [9, 30, 3]
    assert workload.arrival_ns.tolist() == [0, 1_500_000_000, 1_500_000_000]
    assert workload.estimated


def test_llmservingsim_mixes_requests_and_sessions(read: Read) -> None:
    calls = [
        {"input_toks": 32, "output_toks": 16, "tool_duration_ns": 500},
        {"input_toks": 64, "output_toks": 1, "tool_duration_ns": 0},
    ]
    workload = read(
        lines(
            {"input_toks": 7, "output_toks": 8, "arrival_time_ns": 100},
            {"session_id": "s", "arrival_time_ns": 0, "sub_requests": calls},
        )
    )
    assert workload.format == "llmservingsim"
    assert workload.prompt.tolist() == [32, 7, 64]
    assert workload.arrival_ns.tolist() == [0, 100, 500]
    assert hit_rate_ceiling(workload) == 48 / 103


def test_llmservingsim_token_ids_are_identity(read: Read) -> None:
    ids = list(range(40))
    rows = [
        {"input_toks": 40, "output_toks": 1, "arrival_time_ns": n, "input_tok_ids": part}
        for n, part in enumerate([ids, ids[:32] + [0] * 8])
    ]
    assert hit_rate_ceiling(read(lines(*rows))) == 32 / 80


@pytest.mark.parametrize(
    ("format", "header", "row"),
    [
        ("vidur", "num_decode_tokens,arrived_at,num_prefill_tokens", "3,{at},40"),
        (
            "splitwise-sim",
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size",
            "0,2,0,{at},1,40,3",
        ),
        (
            "multi-round-qa",
            "prompt_tokens,generation_tokens,ttft,generation_time,user_id,question_id,launch_time,finish_time",
            "40.0,3.0,1,1,7,{at},{at},9",
        ),
        (
            "swissai",
            "created_at_iso,finished_at_iso,prompt_tokens,output_tokens",
            "2026-01-01T00:00:0{at}Z,,40,3",
        ),
    ],
)
def test_tables_of_simulators(read: Read, format: str, header: str, row: str) -> None:
    workload = read("\n".join([header, row.format(at=0), row.format(at=2)]))
    assert workload.format == format
    assert lengths(workload) == [(40, 3)] * 2
    assert workload.arrival_ns.tolist() == [0, 2 * S]


# Gateways


def spend(at: int, **changes: object) -> dict[str, object]:
    return {
        "startTime": f"2026-01-15 09:00:{at:02}.250",
        "prompt_tokens": 40,
        "completion_tokens": 5,
        "call_type": "acompletion",
        "status": "success",
        "cache_hit": "None",
    } | changes


SPENT = [
    spend(0),
    spend(1, cache_hit="True"),
    spend(2, status="failure"),
    spend(3, call_type="aembedding", completion_tokens=0),
    spend(4),
]


def test_litellm_leaves_out_what_never_reached_an_engine(read: Read) -> None:
    workload = read(json.dumps(SPENT))
    assert workload.format == "litellm"
    assert workload.arrival_ns.tolist() == [0, 4 * S]
    assert left_out(workload) == {
        "answered from the gateway's own cache (--keep-cached keeps them)": 1,
        "status failure": 1,
        "not a call that generates text": 1,
    }
    assert len(read(json.dumps(SPENT), keep_cached=True)) == 3


def test_litellm_tables_are_the_same(read: Read) -> None:
    header = ",".join(SPENT[0])
    table = "\n".join([header, *(",".join(map(str, row.values())) for row in SPENT)])
    assert read(table).arrival_ns.tolist() == read(json.dumps(SPENT)).arrival_ns.tolist()
    assert left_out(read(table)) == left_out(read(json.dumps(SPENT)))


def answer(
    at: int, prompt: int, completion: int, *, choices: int = 1, status: int = 200
) -> dict[str, object]:
    body = {
        "created": 1_790_000_000 + at,
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
        "choices": [{}] * choices,
    }
    return {"id": "b", "custom_id": "c", "response": {"status_code": status, "body": body}, "error": None}


def test_batch_output(read: Read) -> None:
    failed = {"custom_id": "d", "response": {"status_code": 500, "body": {}}, "error": {"code": "x"}}
    workload = read(lines(answer(3, 50, 5), answer(0, 40, 8, choices=2), failed))
    assert workload.format == "openai-batch-output"
    assert lengths(workload) == [(40, 8), (50, 5)]
    assert left_out(workload) == {"the provider answered with an error": 1}
    assert any(said.startswith("1 request with several answers") for said in workload.assumed)


def test_batch_output_of_the_responses_api(read: Read) -> None:
    body = {"created_at": 1_790_000_000, "usage": {"input_tokens": 4, "output_tokens": 5}}
    workload = read(lines({"custom_id": "c", "response": {"status_code": 200, "body": body}}))
    assert lengths(workload) == [(4, 5)]


def test_batch_input_is_estimated(read: Read) -> None:
    def request(**body: object) -> dict[str, object]:
        return {"custom_id": "c", "method": "POST", "url": "/v1/chat/completions", "body": body}

    workload = read(
        lines(
            request(messages=[{"role": "user", "content": "three small words"}], max_tokens=9),
            request(
                input=[{"role": "user", "content": [{"type": "input_text", "text": "a b"}]}],
                max_output_tokens=7,
            ),
            request(prompt="no limit here"),
        )
    )
    assert lengths(workload) == [(3, 9), (2, 7)]
    assert workload.estimated
    assert left_out(workload) == {"no max_tokens, so the length of the answer is not known": 1}


@pytest.mark.parametrize(
    ("row", "arrivals"),
    [
        ({"created": 1_790_000_000, "usage": {"prompt_tokens": 40, "completion_tokens": 5}}, [0, 2 * S]),
        (
            {"start_time": 7, "response": {"body": {"usage": {"input_tokens": 40, "output_tokens": 5}}}},
            [0, 2 * S],
        ),
        (
            {"ts_ms": 7, "prompt_tokens": 40, "usage": {"output_tokens": 5, "prompt_tokens": 9}},
            [0, 2_000_000],
        ),
    ],
)
def test_access_logs_may_nest_their_numbers(read: Read, row: dict[str, object], arrivals: list[int]) -> None:
    (time, value), *rest = row.items()
    assert isinstance(value, int)
    workload = read(lines(row, {time: value + 2, **dict(rest)}))
    assert lengths(workload) == [(40, 5)] * 2
    assert workload.arrival_ns.tolist() == arrivals


def test_sagemaker_answers_are_unpacked(read: Read) -> None:
    def capture(second: int, data: str, encoding: str) -> dict[str, object]:
        return {
            "captureData": {"endpointInput": {}, "endpointOutput": {"data": data, "encoding": encoding}},
            "eventMetadata": {"inferenceTime": f"2026-01-01T00:00:0{second}Z"},
        }

    text = json.dumps({"usage": {"prompt_tokens": 40, "completion_tokens": 5}})
    packed = base64.b64encode(text.encode()).decode()
    workload = read(
        lines(capture(0, text, "JSON"), capture(1, packed, "BASE64"), capture(2, "no JSON", "JSON"))
    )
    assert workload.format == "sagemaker"
    assert lengths(workload) == [(40, 5)] * 2
    assert left_out(workload) == {"no token usage in the answer": 1}


# Spans


def otlp(*spans: dict[str, object]) -> dict[str, object]:
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def span(name: str, start: int, end: int, parent: str = "", **attributes: object) -> dict[str, object]:
    kinds = {int: "intValue", str: "stringValue"}
    found = [
        {"key": key.replace("__", "."), "value": {kinds[type(value)]: value}}
        for key, value in attributes.items()
    ]
    base = 1_790_000_000 * S
    return {
        "spanId": name,
        "parentSpanId": parent,
        "startTimeUnixNano": str(base + start),
        "endTimeUnixNano": str(base + end),
        "attributes": found,
        "status": {},
    }


USAGE = {"gen_ai__usage__input_tokens": "40", "gen_ai__usage__output_tokens": 5}


def test_otlp_reads_calls_and_leaves_out_the_rest(read: Read) -> None:
    workload = read(
        lines(
            otlp(
                span("b", 7, 9, **USAGE),
                span("a", 2, 4, **dict.fromkeys(USAGE, "8")),
                span("tool", 1, 2, gen_ai__operation__name="execute_tool"),
                span("http", 1, 2),
                span("c", 1, 2, **USAGE) | {"status": {"code": 2}},
            ),
            otlp(span("d", 12, 13, gen_ai__usage__prompt_tokens=3, gen_ai__usage__completion_tokens=4)),
        )
    )
    assert workload.format == "otlp"
    assert lengths(workload) == [(8, 8), (40, 5), (3, 4)]
    assert workload.arrival_ns.tolist() == [0, 5, 10]
    assert left_out(workload) == {"operation execute_tool": 1, "no token usage": 1, "status error": 1}


def test_spans_that_sum_up_others_are_not_counted_twice(read: Read) -> None:
    workload = read(
        json.dumps(
            otlp(
                span("leaf1", 2, 4, "between", **USAGE),
                span("leaf2", 5, 8, "agent", **USAGE),
                span("between", 1, 4, "agent"),
                span("agent", 0, 9, **USAGE),
                span("later", 10, 11, "agent", **USAGE),
            )
        )
    )
    assert workload.arrival_ns.tolist() == [0, 3, 8]
    assert left_out(workload) == {"no token usage": 1, "sums up the calls inside it": 1}


def test_spans_without_usage_are_refused(read: Read) -> None:
    with pytest.raises(TraceError, match="no request remains: 1 row left out: no token usage"):
        read(json.dumps(otlp(span("a", 1, 2))))


def test_flat_spans(read: Read) -> None:
    def flat(at: str, prompt: int, session: str) -> dict[str, object]:
        return {
            "span_id": at,
            "start_time": f"2026-02-26T10:00:{at}",
            "end_time": f"2026-02-26T10:00:{at}",
            "attributes": {
                "gen_ai.usage.input_tokens": prompt,
                "gen_ai.usage.output_tokens": 16,
                "gen_ai.conversation.id": session,
            },
        }

    spans = [flat("00.5", 32, "c"), flat("03.0", 64, "c"), flat("02.5", 64, "d")]
    for text in (json.dumps({"trace_id": "t", "spans": spans}), lines(*spans)):
        workload = read(text)
        assert workload.format == "otel-spans"
        assert workload.arrival_ns.tolist() == [0, 2 * S, 2_500_000_000]
        assert hit_rate_ceiling(workload) == 48 / 160


# Reports


def test_inference_perf_lifecycle(read: Read) -> None:
    rows = [
        {
            "start_time": 100.5 + at,
            "end_time": 109.0,
            "request": "{}",
            "info": {"input_tokens": 40, "response_metrics": {"output_tokens": 6}},
            "error": error,
        }
        for at, error in ((0, None), (1, None), (2, {"error_type": "x"}))
    ]
    workload = read(json.dumps(rows))
    assert workload.format == "inference-perf"
    assert lengths(workload) == [(40, 6)] * 2
    assert workload.arrival_ns.tolist() == [0, S]
    assert left_out(workload) == {"the benchmark recorded an error": 1}


def test_guidellm_report(read: Read) -> None:
    def request(at: float) -> dict[str, object]:
        return {"prompt_tokens": 40, "output_tokens": 6, "start_time": 1_790_000_000 + at}

    newer = {
        "input_metrics": {"text_tokens": 40},
        "output_metrics": {"text_tokens": 6},
        "info": {"timings": {"request_start": 1_790_000_003}},
    }
    found = {"successful": [request(0.5), newer], "errored": [request(1)], "incomplete": [request(2)]}
    report = {"benchmarks": [{"requests": found}, {"requests": {"successful": []}}]}
    workload = read(json.dumps(report))
    assert workload.format == "guidellm"
    assert lengths(workload) == [(40, 6)] * 2
    assert workload.arrival_ns.tolist() == [0, 2_500_000_000]
    assert sum(left_out(workload).values()) == 2


# The order of detection


ONE_OF_EACH: dict[str, Callable[[], str]] = {
    "sharegpt": lambda: json.dumps(TALK),
    "vllm-bench": lambda: json.dumps(RUN),
    "aiperf": lambda: lines(record(S)),
    "kv-cache-tester": lambda: json.dumps(agent(call(0, 64, 1))),
    "litellm": lambda: json.dumps(SPENT),
    "openai-batch-output": lambda: lines(answer(0, 1, 1)),
    "otlp": lambda: lines(otlp(span("a", 1, 2, **USAGE))),
    "ragpulse": lambda: lines(RAG),
}


@pytest.mark.parametrize("format", ONE_OF_EACH)
@pytest.mark.parametrize("clothes", ["plain", "bom", "crlf", "pretty"])
def test_formats_are_known_by_content(tmp_path: Path, format: str, clothes: str) -> None:
    text = ONE_OF_EACH[format]()
    if clothes == "pretty":
        values = (
            [json.loads(text)] if text.startswith("[") else [json.loads(row) for row in text.splitlines()]
        )
        text = "\n".join(json.dumps(value, indent=2) for value in values)
    if clothes == "crlf":
        text = text.replace("\n", "\r\n")
    (tmp_path / "odd.name").write_bytes((b"\xef\xbb\xbf" if clothes == "bom" else b"") + text.encode())
    assert load(str(tmp_path / "odd.name")).format == format
