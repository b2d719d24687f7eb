"""Faults that other trace readers had: the smallest inputs that showed them, and what a reader should say."""

from __future__ import annotations

import numpy as np
import pytest

from kvtui.errors import TraceError
from kvtui.traces.info import hit_rate_ceiling, info, render
from tests.traces.conftest import Read


def test_times_from_1970_start_at_zero(read: Read) -> None:
    workload = read(
        '{"timestamp": 1790000000000, "input_length": 500, "output_length": 10}\n'
        '{"timestamp": 1790000002500, "input_length": 900, "output_length": 40}\n'
    )
    assert workload.arrival_ns.tolist() == [0, 2_500_000_000]
    assert workload.span_s == 2.5


@pytest.mark.parametrize(
    ("first", "second", "apart_ns"),
    [
        ("1790000000", "1790000003", 3_000_000_000),
        ("1790000000.25", "1790000000.750000001", 500_000_001),
        ("1790000000000", "1790000000003", 3_000_000),
        ("1790000000000000", "1790000000000003", 3_000),
        ("1790000000000000000", "1790000000000000003", 3),
    ],
)
def test_unit_of_times_from_1970_is_told_by_their_size(
    read: Read, first: str, second: str, apart_ns: int
) -> None:
    workload = read(f"time,prompt_tokens,output_tokens\n{first},5,5\n{second},5,5\n")
    assert workload.arrival_ns.tolist() == [0, apart_ns]


def test_two_clocks_in_one_column_are_refused(read: Read) -> None:
    with pytest.raises(TraceError, match="57 years after") as caught:
        read(
            '{"timestamp": 40, "input_length": 500, "output_length": 10}\n'
            '{"timestamp": 1790000002500, "input_length": 900, "output_length": 40}\n'
        )
    assert caught.value.line == 2


SMALL_BLOCKS = (
    '{"timestamp": 0, "input_length": 201, "output_length": 5, "hash_ids": [1,2,3,4,5,6,7,8,9,10,11,12,13]}\n'
    '{"timestamp": 40, "input_length": 40, "output_length": 5, "hash_ids": [1,2,14]}\n'
)


def test_block_size_is_inferred(read: Read) -> None:
    workload = read(SMALL_BLOCKS)
    assert workload.unit == 16
    assert "block ids stand for 16 tokens each, inferred from the lengths of prompts" in workload.assumed
    assert hit_rate_ceiling(workload) == 32 / 241


def test_given_block_size_that_does_not_fit_names_the_row(read: Read) -> None:
    with pytest.raises(
        TraceError, match="201 prompt tokens need 1 block of 512, but the row has 13"
    ) as caught:
        read(SMALL_BLOCKS, block_size=512)
    assert caught.value.line == 1
    assert caught.value.hint == "blocks of 16 tokens would fit the file"


def test_partial_last_block_may_lack_its_id(read: Read) -> None:
    workload = read(
        '{"timestamp": 0, "input_length": 1000, "output_length": 8, "hash_ids": [1]}\n'
        '{"timestamp": 1, "input_length": 1024, "output_length": 8, "hash_ids": [1, 2]}\n'
    )
    assert workload.unit == 512
    assert workload.identified.tolist() == [512, 1024]
    assert hit_rate_ceiling(workload) == 512 / 2024


def test_follow_up_turns_hold_their_history_already(read: Read) -> None:
    ids = list(range(14))
    workload = read(
        '{"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.0, "input_length": 160, "output_length": 32, '
        f'"type": "text", "turn": 1, "hash_ids": {ids[:10]}}}\n'
        '{"chat_id": 2, "parent_chat_id": 1, "timestamp": 9.5, "input_length": 224, "output_length": 16, '
        f'"type": "text", "turn": 2, "hash_ids": {ids}}}\n'
    )
    assert workload.prompt.sum() == 384
    assert hit_rate_ceiling(workload) == 160 / 384
    assert workload.arrival_ns.tolist() == [0, 9_500_000_000]


def test_dates_with_and_without_fraction_mix(read: Read) -> None:
    workload = read(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n"
        "2024-06-01 07:30:00.004163+00:00,1200,9\n"
        "2024-06-01 07:30:01+00:00,640,2\n"
        "2024-06-01 07:30:02.160988+00:00,75,31\n"
    )
    assert workload.format == "azure-2024"
    assert workload.arrival_ns.tolist() == [0, 995_837_000, 2_156_825_000]


def test_seven_digits_of_a_second_are_kept(read: Read) -> None:
    workload = read(
        "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
        "2023-12-01 09:15:46.6805900,300,40\r\n"
        "2023-12-01 09:15:46.6815900,310,90\r\n"
        "2023-12-01 09:15:46.6815901,320,80"
    )
    assert workload.format == "azure-2023"
    assert workload.arrival_ns.tolist() == [0, 1_000_000, 1_000_100]


def test_columns_go_by_name(read: Read) -> None:
    workload = read(
        "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n"
        "2024-11-05T08:00:00.250Z,0,700,410\n"
        "2024-11-05T08:00:05.800Z,1,930,120\n"
    )
    assert workload.prompt.tolist() == [700, 930]
    assert workload.output.tolist() == [410, 120]
    assert workload.arrival_ns.tolist() == [0, 5_550_000_000]
    assert workload.assumed == ("1 request with images: images are not modelled, their tokens not added",)


WITH_FAILED = (
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "5,ChatGPT,480,20,500,Conversation log\n"
    "7,ChatGPT,0,0,0,Conversation log\n"
    "9,GPT-4,100,0,100,API log\n"
)


def test_failed_rows_are_left_out_and_counted(read: Read) -> None:
    workload = read(WITH_FAILED)
    assert workload.prompt.tolist() == [480]
    assert [(group.reason, group.count, group.lines) for group in workload.left_out] == [
        ("no tokens", 1, (3,)),
        ("no output", 1, (4,)),
    ]
    assert "2 failed rows left out (1 with no tokens, 1 with no output)" in render(info(workload))


def test_failed_rows_can_be_kept(read: Read) -> None:
    workload = read(WITH_FAILED, keep_failed=True)
    assert workload.prompt.tolist() == [480, 0, 100]
    assert workload.output.tolist() == [20, 0, 0]
    assert not workload.left_out
    assert "2 requests without prompt or output kept" in workload.assumed


def test_reading_can_start_later(read: Read) -> None:
    workload = read(WITH_FAILED + "12,GPT-4,30,4,34,API log\n" + "20,GPT-4,31,4,35,API log\n", skip=1)
    assert workload.prompt.tolist() == [30, 31]
    assert workload.arrival_ns.tolist() == [0, 8_000_000_000]
    assert sum(group.count for group in workload.left_out) == 2
    assert "the first 1 usable row skipped, as asked" in workload.assumed


def test_comma_between_objects_is_refused(read: Read) -> None:
    with pytest.raises(TraceError) as caught:
        read(
            '{"timestamp": 0, "input_length": 100, "output_length": 5},\n'
            '{"timestamp": 10, "input_length": 120, "output_length": 5}\n'
        )
    assert caught.value.line == 1
    assert caught.value.hint == "remove the comma after the object or put the rows in [ ]"


def test_comma_is_refused_where_it_stands(read: Read) -> None:
    with pytest.raises(TraceError, match="a comma follows the object") as caught:
        read('{"timestamp": 0, "input_length": 1, "output_length": 5}\n' * 40 + '{"timestamp": 1},\n{}\n')
    assert caught.value.line == 41


def test_object_over_several_lines_is_one_request(read: Read) -> None:
    one = (
        "# as a README shows it\n"
        "{\n"
        '  "timestamp": 31000,\n'
        '  "input_length": 7000,\n'
        '  "output_length": 64,\n'
        '  "hash_ids": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 700, 701]\n'
        "}\n"
    )
    workload = read(one)
    assert (workload.prompt.tolist(), workload.output.tolist(), workload.line.tolist()) == ([7000], [64], [2])
    assert (workload.unit, np.diff(workload.chain_start).tolist()) == (512, [14])
    assert read(one + one).line.tolist() == [2, 9]
