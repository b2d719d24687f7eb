"""Files that cannot be replayed: one clear sentence each, with the place and a remedy."""

from __future__ import annotations

import gzip
import io
import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.errors import ConfigError, TraceError
from kvtui.traces import load
from tests.traces.conftest import Read

AZURE = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
ROW = "2023-12-01 09:15:46.5000000,300,44\n"
MOONCAKE = '{"timestamp": 0, "input_length": 100, "output_length": 5}\n'


def refusal(read: Read, content: str | bytes, **options: int) -> TraceError:
    with pytest.raises(TraceError) as caught:
        read(content, **options)
    error = caught.value
    assert error.path
    assert error.message.startswith(error.path)
    assert error.message.endswith(".")
    assert error.hint
    return error


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b"\xef\xbb\xbf \n\r\n", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (gzip.compress(AZURE.encode() * 99, mtime=0)[:-9], "the gzip data is cut off"),
        (b"\x1f\x8b\x08 nonsense that is no gzip", "the gzip data is damaged"),
        (b"PK\x03\x04\x14\x00", "a zip archive"),
        (gzip.compress(b"\x28\xb5\x2f\xfd\x04", mtime=0), "compressed twice"),
        (b"BZh91AY", "the bzip2 data is cut off"),
        (b"BZhello there", "the bzip2 data is damaged"),
        (b"\xfd7zXZ\x00", "the xz data is cut off"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (b"ARROW1\x00\x00", "an Arrow file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "a Git LFS pointer, not the data"),
        (b"\n<!DOCTYPE html>\n<title>trace.csv</title>", "a web page"),
        (b"<HTML><body>", "a web page"),
        (AZURE.encode("utf-16")[:-1], "the UTF-16 data is damaged"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "a binary file"),
        (b"\x80\x04\x95\x00pickle", "a binary file"),
    ],
)
def test_bytes_that_are_no_text(read: Read, content: bytes, says: str) -> None:
    assert says in refusal(read, content).message


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        (AZURE, None, "there are no rows"),
        ("hello\n", None, "there are no rows below the first line"),
        ("0.5,120,30\n0.7,110,20\n", 1, "the first line holds data"),
        ("2024-05-10 00:00:00,120,30\n0.7,110,20\n", 1, "the first line holds data"),
        ("a,b\n1,2\n", None, "no known trace format has these columns: a, b"),
        ('{"a": 1}\n{"b": 2}\n', None, "no known trace format has these keys: a, b"),
        ("prompt,output\nwhat is this,a question\n", None, "'prompt' holds text"),
        (
            '{"conversations": []}\n',
            None,
            "no request remains: 1 row left out: a conversation without a question",
        ),
        ('{"messages": "what is this"}\n', None, "'messages' holds text"),
        ("[]", None, "there is no JSON object"),
        ("[1, 2]", None, "there is no JSON object"),
        ("{nothing}", None, "there is no JSON object"),
        (MOONCAKE + MOONCAKE[:30], 2, "the last record is cut off"),
        ("[\n" + MOONCAKE + "," + MOONCAKE[:30], 3, "the array of rows is cut off"),
        ("[\n" + MOONCAKE + ",\n", 4, "the array of rows is cut off"),
        ("[" + MOONCAKE + ", oops]", 2, "not valid JSON"),
        ("[" + MOONCAKE + "]\n" + MOONCAKE, 3, "more text follows the array"),
        ("Timestamp,Request tokens,Model\n5,1,x\n", 1, "without the column 'Response tokens'"),
        (AZURE + ROW + "x,1,1\n" * 2, 3, "2 of 3 rows cannot be read, as here: no readable TIMESTAMP"),
        (AZURE + ROW + ROW.replace("44", "-1") * 2, 3, "no whole number of tokens in GeneratedTokens"),
        (
            AZURE + ROW.replace("44", "0"),
            None,
            "no request remains: 1 failed row left out (1 with no output)",
        ),
        ('a,b\n1,"2\n' + "3,4\n" * 50_000, None, "not a CSV file"),
    ],
)
def test_text_that_is_no_trace(read: Read, content: str, line: int | None, says: str) -> None:
    error = refusal(read, content)
    assert says in error.message
    assert line is None or error.line == line


@pytest.mark.parametrize(
    ("summary", "tool", "remedy"),
    [
        (
            {"backend": "vllm", "num_prompts": 9, "completed": 9, "total_input_tokens": 900},
            "a vLLM benchmark summary without per-request data",
            "--save-result --save-detailed",
        ),
        (
            {
                "backend": "sglang",
                "completed": 9,
                "total_input_tokens": 900,
                "total_output_tokens_retokenized": 1,
            },
            "an SGLang benchmark summary without per-request data",
            "--output-details",
        ),
        (
            {"time_to_first_token": {"avg": 1, "p50": 1, "p99": 2}, "request_count": {"avg": 100}},
            "a benchmark summary without per-request data",
            "save the records",
        ),
    ],
)
def test_summaries_say_how_to_save_requests(
    read: Read, summary: dict[str, object], tool: str, remedy: str
) -> None:
    error = refusal(read, json.dumps(summary))
    assert tool in error.message
    assert remedy in (error.hint or "")


@pytest.mark.parametrize(
    ("content", "says", "remedy"),
    [
        (
            {"input_sequence_length": {"avg": 5, "p50": 5}, "request_count": {"avg": 9}},
            "an AIPerf summary without per-request data",
            "profile_export.jsonl",
        ),
        (
            {"data": [{"session_id": "a", "payloads": [{}]}]},
            "the inputs of an AIPerf run",
            "profile_export.jsonl",
        ),
        (
            {"load_summary": {"count": 9}, "successes": {}},
            "an inference-perf summary",
            "per_request_lifecycle",
        ),
        (
            {"benchmarks": [{"requests": {"successful": []}}]},
            "a guidellm report without its requests",
            "kept",
        ),
        ({"experiments": [{"requests": []}]}, "a GenAI-Perf profile", "AIPerf"),
        (
            {"0": {"input_tokens": "{5: 0.5}", "output_tokens": "{}"}},
            "rates and distributions (ServeGen)",
            "synth",
        ),
        (
            {"metadata": {}, "conversations": [[{"messages": []}]]},
            "an SGLang agentic trace",
            "--output-details",
        ),
        (
            "INFO 02-03 10:00:00 logger.py:40] Received request cmpl-1: prompt, params: SamplingParams(n=1)\n"
            * 2,
            "the log of a server",
            "OpenTelemetry",
        ),
        ("600,1.5,0.9,Gamma,0.8\n1200,1.5,0.9,Gamma,0.8\n", "rates and distributions (ServeGen)", "synth"),
        ({"prompt": "what is this"}, "'prompt' holds text", "answers or their length"),
        ({"messages": [{"role": "user"}], "session_id": "a"}, "'messages' holds text", "answers"),
    ],
)
def test_what_holds_no_requests_is_refused_by_name(
    read: Read, content: object, says: str, remedy: str
) -> None:
    error = refusal(read, content if isinstance(content, str) else json.dumps(content))
    assert says in error.message
    assert remedy in (error.hint or "")


def test_failed_rows_alone_name_the_way_to_keep_them(read: Read) -> None:
    assert "--keep-failed" in (refusal(read, AZURE + ROW.replace("44", "0")).hint or "")


def test_no_such_file_names_a_close_one(tmp_path: Path) -> None:
    (tmp_path / "trace_conv.csv").write_text(AZURE + ROW)
    with pytest.raises(TraceError, match="there is no such file") as caught:
        load(str(tmp_path / "trace_con.csv"))
    assert "trace_conv.csv" in (caught.value.hint or "")
    with pytest.raises(TraceError, match="there is no such file") as caught:
        load(str(tmp_path / "nowhere" / "trace.csv"))
    assert "there is no folder" in (caught.value.hint or "")


def test_what_the_system_refuses_is_said(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="cannot be read: File name too long"):
        load(str(tmp_path / ("x" * 300)))


def test_a_terminal_as_standard_input_is_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", terminal)
    with pytest.raises(TraceError, match="nothing is piped in"):
        load("-")


def test_skipping_everything_is_said(read: Read) -> None:
    assert "no request remains behind the first 5" in refusal(read, AZURE + ROW, skip=5).message


@pytest.mark.parametrize("option", [{"limit": 0}, {"skip": -1}, {"block_size": 0}])
def test_options_out_of_range(read: Read, option: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="cannot be"):
        read(AZURE + ROW, **option)


@pytest.mark.parametrize(
    ("header", "row", "says"),
    [
        ('"kvtui_workload": 2', '"at_ms": 0, "prompt": 5, "output": 5', "workload format 2"),
        ('"kvtui_workload": 1, "unit": 0', '"at_ms": 0, "prompt": 5, "output": 5', "unit cannot be 0"),
        ('"kvtui_workload": 1, "slots": "x"', '"at_ms": 0, "prompt": 5, "output": 5', "slots cannot be 'x'"),
        (
            '"kvtui_workload": 1',
            '"at_ms": 0, "prompt": 5, "output": 5, "ids": [[1, 1]]',
            "ids cannot be read",
        ),
        (
            '"kvtui_workload": 1, "unit": 4',
            '"at_ms": 0, "prompt": 5, "output": 5, "ids": [1]',
            "ids cannot be read",
        ),
        (
            '"kvtui_workload": 1, "unit": 4',
            '"at_ms": 0, "prompt": "5.0", "output": 5, "ids": [[1, 3]]',
            "3 ids of 4 tokens cannot stand for 5 tokens",
        ),
        (
            '"kvtui_workload": 1, "unit": 4',
            '"at_ms": 0, "prompt": 5, "output": 5, "ids": [[1, 3]], "identified": 11',
            "3 ids of 4 tokens cannot stand for 11 tokens",
        ),
        (
            '"kvtui_workload": 1, "unit": 4',
            '"at_ms": 0, "prompt": 5, "output": 5, "ids": [[1, 2]], "identified": 4',
            "2 ids of 4 tokens cannot stand for 4 tokens",
        ),
        (
            '"kvtui_workload": 1, "unit": 4',
            '"at_ms": 0, "prompt": 5, "output": 5, "ids": [[1, 99999999999]]',
            "ids cannot be read",
        ),
        (
            '"kvtui_workload": 1, "unit": 4',
            '"at_ms": 0, "prompt": 5, "output": 5, "ids": [[1, 2]], "identified": 9',
            "2 ids of 4 tokens cannot stand for 9 tokens",
        ),
    ],
)
def test_workloads_that_contradict_themselves(read: Read, header: str, row: str, says: str) -> None:
    assert says in refusal(read, f"{{{header}}}\n{{{row}}}\n").message


GOOD = [
    AZURE + ROW * 3,
    MOONCAKE * 3,
    f"[{MOONCAKE},{MOONCAKE}]",
    '{"timestamp": 0, "input_length": 600, "output_length": 5, "hash_ids": [1, "a"]}\n',
    "Timestamp,Session ID,Request tokens,Response tokens\n5.0,a,1,1\n7.5,a,2,1\n",
    '{"kvtui_workload": 1, "unit": 4}\n{"at_ms": 0, "prompt": 5, "output": 5, "ids": [[1, 2]]}\n',
]
DEBRIS = [
    "",
    ",",
    '"',
    "\n",
    "\r",
    "{",
    "}",
    "[",
    "]",
    "-",
    ".",
    "0",
    "9" * 20,
    "1e999999999",
    "null",
    "\udcff",
    ";",
    "#",
]


@settings(max_examples=150, deadline=None)
@given(
    good=st.sampled_from(GOOD),
    damage=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(DEBRIS)), max_size=4),
)
def test_damage_gives_a_sentence_or_a_workload(
    tmp_path_factory: pytest.TempPathFactory, good: str, damage: list[tuple[float, int, str]]
) -> None:
    for where, length, debris in damage:
        start = int(where * len(good))
        good = good[:start] + debris + good[start + length :]
    path = tmp_path_factory.getbasetemp() / "damaged"
    path.write_bytes(good.encode("utf-8", "surrogateescape"))
    with suppress(TraceError):
        assert len(load(str(path)))


def test_unknown_columns_are_answered_with_names_to_give_them(read: Read) -> None:
    error = refusal(read, "ts;tok_in;tok_out\n1;2;3\n")
    assert str(error.hint).startswith(
        "name the columns arrival, prompt_tokens and output_tokens; 'kvtui trace f"
    )
    assert len(str(error.hint)) < 160
