"""What each format's loader decides: names, units, identity, and what it says about it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json

import numpy as np
import pytest

from kvtui.errors import ConfigError, TraceError
from kvtui.traces import Workload, load, table
from kvtui.traces.info import hit_rate_ceiling
from tests.traces.conftest import Read

AZURE = (
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-12-01 09:15:46.5000000,300,40\n2023-12-01 09:15:48,91,16\n"
)


def mooncake(*rows: dict[str, object]) -> str:
    return "".join(json.dumps({"timestamp": 0, "output_length": 5} | row) + "\n" for row in rows)


def chains(workload: Workload) -> list[list[int]]:
    return [part.tolist() for part in np.split(workload.chain, workload.chain_start[1:-1])]


def test_name_is_the_file_without_its_suffixes(read: Read) -> None:
    assert read(gzip.compress(AZURE.encode()), name="conv-0.5.csv.gz").name == "conv-0.5"


def test_standard_input_is_read_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(AZURE.encode()))))
    workload = load("-")
    assert (workload.name, workload.format, workload.prompt.tolist()) == ("stdin", "azure-2023", [300, 91])


def test_digest_is_that_of_the_file_as_it_lies_there(read: Read) -> None:
    packed = gzip.compress(AZURE.encode())
    assert read(AZURE).sha256 == hashlib.sha256(AZURE.encode()).hexdigest()
    assert read(packed).sha256 == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize(
    "value", ["", "x", "NaN", "-1", "1.5", "inf", "3000000000", "99999999999999999999999"]
)
def test_what_is_no_count_of_tokens_is_a_bad_row(read: Read, value: str) -> None:
    workload = read(AZURE + f"2023-12-01 09:15:49,{value},7\n" + "2023-12-01 09:15:50,8,9\n")
    assert workload.prompt.tolist() == [300, 91, 8]
    (group,) = workload.left_out
    assert (group.reason, group.lines) == ("no whole number of tokens in ContextTokens", (4,))


def test_first_three_bad_lines_are_kept_then_counted(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "PIECE", 1)
    good = "2023-12-01 09:15:50,8,9\n"
    (group,) = read(AZURE + ("bad,1,1\n" + good) * 5).left_out
    assert (group.reason, group.count, group.lines) == ("no readable TIMESTAMP", 5, (4, 6, 8))


@pytest.mark.parametrize("value", ["21073.0", " 21073 ", '"21073"', "2.1073e4", "021073"])
def test_whole_numbers_come_in_many_clothes(read: Read, value: str) -> None:
    workload = read(AZURE + f"2023-12-01 09:15:49,{value},7\n")
    assert workload.prompt.tolist() == [300, 91, 21073]
    assert workload.line.tolist() == [2, 3, 4]


def test_rows_out_of_order_are_sorted_and_counted(read: Read) -> None:
    workload = read(AZURE + "2023-12-01 09:15:47,8,9\n")
    assert workload.prompt.tolist() == [300, 8, 91]
    assert workload.line.tolist() == [2, 4, 3]
    assert workload.assumed == (
        "TIMESTAMP names no zone: taken as UTC",
        "1 row earlier than the row before: sorted by arrival",
    )


def test_ragged_rows_are_bad_and_blank_lines_are_none(read: Read) -> None:
    rows = AZURE + "2023-12-01 09:15:50,1\n\n2023-12-01 09:15:51,2,3,4\n2023-12-01 09:15:52,5,6\n\n\n"
    workload = read(rows)
    assert workload.prompt.tolist() == [300, 91, 5]
    assert workload.line.tolist() == [2, 3, 7]
    (group,) = workload.left_out
    assert group.lines == (4, 6)


def test_quoted_fields_keep_their_line_numbers(read: Read) -> None:
    workload = read('note,"prompt tokens",output_tokens\n"a, ""b""\nover two lines",7,8\nc,9,"10"\n')
    assert workload.prompt.tolist() == [7, 9]
    assert workload.line.tolist() == [3, 4]


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_delimiters(read: Read, mark: str) -> None:
    assert read(f"prompt_tokens{mark}output_tokens\n7{mark}8\n").prompt.tolist() == [7]


def test_limit_stops_reading_and_counting(read: Read) -> None:
    workload = read(AZURE + "bad,1,1\n" * 9, limit=2)
    assert (len(workload), workload.left_out) == (2, ())
    assert workload.assumed[-1] == "nothing read behind 2 requests, as asked"
    assert not any("as asked" in sentence for sentence in read(AZURE, limit=3).assumed)


# Names of columns


@pytest.mark.parametrize(
    ("header", "arrival_ns"),
    [
        ("Arrival Time,Prompt Tokens,Completion Tokens", 250_000_000),
        ("arrived at,prefill tokens,decode tokens", 250_000_000),
        ("timestamp_ms,isl,osl", 250_000),
        ("ArrivalNs,prompt,output", 0),
    ],
)
def test_columns_under_other_names(read: Read, header: str, arrival_ns: int) -> None:
    workload = read(f"{header}\n0,7,8\n0.25,9,10\n")
    assert workload.format == "csv"
    assert workload.prompt.tolist() == [7, 9]
    assert workload.arrival_ns.tolist() == [0, arrival_ns]
    names = header.split(",")
    said = f"prompt tokens from '{names[1]}', output tokens from '{names[2]}', arrival from '{names[0]}'"
    assert said in workload.assumed


def test_seconds_are_assumed_for_small_times_and_said_with_their_effect(read: Read) -> None:
    workload = read("t,prompt,output\n0,7,8\n330,9,10\n")
    assert "t counts seconds: 330 s for 2 requests" in workload.assumed


def test_a_unit_that_is_given_counts(read: Read) -> None:
    rows = mooncake({"input_length": 7}, {"input_length": 7, "timestamp": 4})
    assert read(rows).span_s == 0.004
    workload = read(rows, time_unit="s")
    assert workload.span_s == 4
    assert "timestamp counts seconds: 4 s for 2 requests" in workload.assumed
    assert read("t_ms,prompt,output\n0,7,8\n330,9,10\n", time_unit="s").span_s == 0.33  # its name says it
    with pytest.raises(ConfigError, match="'h' is no unit of time"):
        read(rows, time_unit="h")


def test_without_arrivals_all_come_at_once(read: Read) -> None:
    workload = read('[{"input_tokens": 7, "output_tokens": 8},\n {"input_tokens": 9, "output_tokens": 1}]')
    assert workload.format == "json"
    assert workload.arrival_ns.tolist() == [0, 0]
    assert workload.line.tolist() == [1, 2]
    assert "no arrival times: all requests arrive at time 0 (--rate spaces them)" in workload.assumed


def test_dates_in_json(read: Read) -> None:
    rows = ["2024-05-10T00:00:00+02:00", "2024-05-09T22:00:01Z", "2024-05-10 00:00:02+0200"]
    workload = read("".join(json.dumps({"time": at, "prompt": 5, "output": 5}) + "\n" for at in rows))
    assert workload.arrival_ns.tolist() == [0, 1_000_000_000, 2_000_000_000]


def test_broken_json_lines_are_bad_rows(read: Read) -> None:
    good = mooncake({"input_length": 7})
    workload = read(good + '{"timestamp": 1, oops}\n' + good + "null\n" + good + '"text",\n' + good)
    assert workload.line.tolist() == [1, 3, 5, 7]
    (group,) = workload.left_out
    assert (group.reason, group.count, group.lines) == ("not a JSON object", 3, (2, 4, 6))


# Prefix identity


def test_ids_are_of_any_64_bits_or_strings(read: Read) -> None:
    big = [2**64 - 1, 2**63, 1]
    for ids in ([5, 6, 7], big, ["a", "b", "c"], ["1", "01", "1.0"]):
        workload = read(
            mooncake({"input_length": 1500, "hash_ids": ids}, {"input_length": 1024, "hash_ids": ids[:2]})
        )
        assert chains(workload) == [[0, 1, 2], [0, 1]]


def test_ids_of_blocks_alone_are_chained(read: Read) -> None:
    rows = [
        {
            "chat_id": n,
            "parent_chat_id": -1,
            "timestamp": n,
            "input_length": 32,
            "output_length": 1,
            "hash_ids": ids,
        }
        for n, ids in enumerate([[1, 9], [2, 9], [1, 9], [9, 1]])
    ]
    workload = read("".join(json.dumps(row) + "\n" for row in rows))
    assert workload.format == "qwen-bailian"
    first, second, third, fourth = chains(workload)
    assert first == third
    assert len({*first, *second, *fourth}) == 6


def test_rows_without_ids_share_nothing(read: Read) -> None:
    workload = read(
        mooncake(
            {"input_length": 600, "hash_ids": [1, 2]},
            {"input_length": 600},
            {"input_length": 600, "hash_ids": None},
            {"input_length": 600, "hash_ids": [[1], 2]},
            {"input_length": 600, "hash_ids": [1, 2]},
        )
    )
    assert np.diff(workload.chain_start).tolist() == [2, 0, 0, 0, 2]
    assert workload.identified.tolist() == [600, 0, 0, 0, 600]
    assert hit_rate_ceiling(workload) == 600 / 3000


def test_record_may_state_its_block_size(read: Read) -> None:
    workload = read(mooncake({"input_length": 100, "hash_ids": [1, 2], "block_size": 64}))
    assert workload.unit == 64


def test_stated_block_size_may_not_change(read: Read) -> None:
    with pytest.raises(TraceError, match="block_size is 32 here and 64 in the rows before"):
        read(
            mooncake(
                {"input_length": 100, "hash_ids": [1, 2], "block_size": 64},
                {"input_length": 100, "hash_ids": [1, 2], "block_size": 32},
            )
        )


@pytest.mark.parametrize(
    ("rows", "unit"),
    [
        ([(6758, 14), (7322, 15), (2290, 5)], 512),
        ([(201, 13), (40, 3)], 16),
        ([(200, 12), (47, 2), (1000, 62)], 16),
        ([(130, 2)], 128),
        ([(480, 10), (95, 2), (47, 1), (384, 8)], 48),
        ([(480, 10), (95, 2), (47, 1)], 0),
        ([(128, 7)], 0),
        ([(1024, 3), (768, 2), (1536, 3)], 0),
        ([(1000, 8)] * 99 + [(10, 8)], 128),
        ([(100 * n, 1) for n in range(20, 60)], 512),
    ],
)
def test_block_size_from_lengths(read: Read, rows: list[tuple[int, int]], unit: int) -> None:
    ids = iter(range(10**6))
    text = mooncake(*({"input_length": n, "hash_ids": [next(ids) for _ in range(k)]} for n, k in rows))
    assert read(text).unit == unit


def test_ids_that_cannot_be_are_dropped_row_by_row(read: Read) -> None:
    row = {"input_length": 1000, "hash_ids": list(range(8))}
    workload = read(mooncake(*[row] * 99, {"input_length": 10, "hash_ids": list(range(8))}))
    assert np.diff(workload.chain_start).tolist() == [8] * 99 + [0]
    assert "block ids of 1 row not used: more than the prompt has blocks" in workload.assumed


# Sessions


def sessions(*rows: tuple[str, int, int]) -> str:
    header = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    return header + "".join(
        f"{19440110 + at}.0,{session},1.5,GPT-4,{prompt},{output},{prompt + output},x\n"
        for at, (session, prompt, output) in enumerate(rows)
    )


def test_turns_share_a_history_that_only_grows(read: Read) -> None:
    workload = read(
        sessions(("a", 40, 30), ("", 500, 5), ("a", 70, 20), ("b", 80, 10), ("a", 50, 20), ("a", 80, 5))
    )
    assert workload.format == "burstgpt-sessions"
    assert workload.unit == 16
    assert workload.arrival_ns.tolist() == [n * 10**9 for n in range(6)]
    first, alone, second, single, third, fourth = chains(workload)
    assert (len(first), len(second), len(third), len(fourth)) == (70 // 16, 90 // 16, 70 // 16, 85 // 16)
    assert second[: len(first)] == first
    assert fourth[: len(third)] == third
    assert not {*first, *second} & {*third, *fourth}  # the prompt of 50 cannot hold the 90 before it
    assert alone == single == []
    assert workload.identified.tolist() == [64, 0, 80, 0, 64, 80]
    assert hit_rate_ceiling(workload) == (64 + 64) / workload.prompt.sum()


def test_blank_sessions_give_no_identity(read: Read) -> None:
    workload = read(sessions(("", 40, 30), ("", 70, 30)))
    assert (workload.format, workload.unit) == ("burstgpt", 0)


# kvtui's own format


def test_own_format(read: Read) -> None:
    workload = read(
        '{"kvtui_workload": 1, "name": "chat", "seed": 7, "unit": 16, "max_len": 64, "slots": 900}\n'
        '{"at_ms": 12.345, "prompt": 40, "output": 300, "ids": [[7, 2], [90, 1]], "identified": 44}\n'
        '{"at_ms": 0, "prompt": 20, "output": 0}\n'
        '{"at_ms": 1.000001, "prompt": 40, "output": 3, "ids": [[7, 2]]}\n'
    )
    assert (workload.name, workload.format) == ("chat", "kvtui")
    assert (workload.max_len, workload.slots, workload.unit) == (64, 900, 16)
    assert workload.arrival_ns.tolist() == [0, 1_000_001, 12_345_000]
    assert workload.output.tolist() == [0, 3, 300]
    assert chains(workload) == [[], [7, 8], [7, 8, 90]]
    assert workload.identified.tolist() == [0, 32, 44]
    assert workload.line.tolist() == [3, 4, 2]


def test_own_format_may_have_no_identity(read: Read) -> None:
    workload = read('{"kvtui_workload": 1}\n{"at_ms": 1790000000000, "prompt": 40, "output": 300}\n')
    assert (workload.name, workload.unit, workload.max_len, workload.slots) == ("trace", 0, None, None)
    assert workload.arrival_ns.tolist() == [0]
