"""The headless run: a table, stable JSON, the same bytes from the same input."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import KVTUI, complaint, kvtui
from tests.shared import SHARED, needs_shared

SHARES = ("token_states", "reserved", "internal", "external", "tail", "cached", "free")
TRACE = "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1,200,20\n2,300,5\n"


def report(*args: str, **options: Any) -> dict[str, Any]:
    done = kvtui(*args, "--headless", "--json", **options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def chat() -> dict[str, Any]:
    return report("chat")


def test_the_default_scene(chat: dict[str, Any]) -> None:
    contiguous, paged = chat["lanes"]
    assert chat["config"]["model"] == "llama-3.1-8b"
    assert chat["config"]["gpu"] == "a10g"
    assert contiguous["batch"]["peak"] == 15
    assert 60 <= paged["batch"]["peak"] <= 90
    assert 1950 <= paged["kv"]["blocks"] <= 2050
    assert paged["requests"]["preemptions"] > 0


def test_the_interface(chat: dict[str, Any]) -> None:
    assert set(chat) >= {"schema", "kvtui", "trace", "config", "lanes"}
    assert chat["schema"] == 1
    for lane in chat["lanes"]:
        assert set(lane["requests"]) == {"total", "finished", "rejected", "unfinished", "preemptions"}
        assert set(lane["latency"]) == {"ttft_s", "tpot_s", "e2e_s"}
        assert set(lane["latency"]["ttft_s"]) == {"mean", "p50", "p90", "p99", "n"}
        assert set(lane["prefix"]) >= {"query_tokens", "hit_tokens", "hit_rate"}
        assert set(lane["throughput"]) == {"output_tokens_per_s", "requests_per_s"}
        assert {"name", "manager", "batch", "kv", "time_s", "steps"} <= set(lane)
        shares = [lane["kv"][f"{part}_pct"] for part in SHARES]
        assert sum(round(1000 * x) for x in shares) == 100_000
        requests = lane["requests"]
        assert requests["finished"] + requests["rejected"] + requests["unfinished"] == requests["total"]
        assert lane["latency"]["e2e_s"]["n"] == requests["finished"]


def test_same_input_same_bytes(chat: dict[str, Any]) -> None:
    assert kvtui("--headless", "--json", PYTHONHASHSEED="7").stdout == json.dumps(chat, indent=2) + "\n"


def test_fixed_lengths_gain_little() -> None:
    assert "wins little on this traffic" in kvtui("classify", "--headless").stdout


def test_the_article() -> None:
    table = kvtui("run", "article", "--headless").stdout
    assert "19 fit at once at full length (19 to 19)" in table
    assert "37 fit at once at full length" in table
    assert "Runs together" in table
    static = report("article")["article"]
    assert static["contiguous"] == {"median": 19, "least": 19, "most": 19}
    assert static["paged"]["median"] == 37
    assert 24 <= static["paged"]["least"] < 31
    assert 48 < static["paged"]["most"] <= 58


def test_standard_input_and_gzip(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv.gz"
    file.write_bytes(gzip.compress(TRACE.encode()))
    from_file, from_pipe = report(str(file)), report("-", stdin=TRACE.encode())
    assert from_file["lanes"] == from_pipe["lanes"]
    assert from_file["trace"]["requests"] == 3


def test_lanes_hardware_and_pool(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    lanes = report(
        str(file), "--blocks", "100", "--lane", "contiguous:exact,buddy", "--lane", "paged:32", "--lane",
        "paged:block_size=8,prefix_cache=off,name=small", "--gpu", "h100-sxm", "--max-len", "512",
    )["lanes"]  # fmt: skip
    assert [x["name"] for x in lanes] == ["contiguous", "paged", "small"]
    assert [x["kv"]["block_size"] for x in lanes] == [16, 32, 8]
    assert {x["kv"]["pool_tokens"] for x in lanes} == {1600}


def test_a_part_of_a_trace_at_another_rate(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    assert report(str(file), "--limit", "2")["trace"]["requests"] == 2
    assert report(str(file), "--start", "1", "--duration", "5")["trace"]["span_s"] == 1.0
    assert report(str(file), "--scale-rate", "4")["trace"]["span_s"] == 0.5
    assert report(str(file), "--rate", "10")["trace"]["span_s"] == pytest.approx(0.2)
    drawn = [report(str(file), "--rate", "10", "--burstiness", "1", "--seed", s)["trace"] for s in "112"]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_run_that_is_cut_says_so() -> None:
    for lane in report("chat", "--until", "20")["lanes"]:
        assert lane["requests"]["unfinished"] > 0
        assert 20 <= lane["time_s"] < 21


def test_never_served_is_counted_with_its_reason(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text(TRACE)
    table = kvtui(str(file), "--headless", "--blocks", "15", "--max-len", "1000", "--lane", "paged").stdout
    assert (
        "1 rejected: never fits into the pool (the first, request 2, needs 19 blocks, there are 15)" in table
    )


def test_a_shared_prefix_below_one_block_is_noted(tmp_path: Path) -> None:
    rows = [
        json.dumps(
            {"timestamp": i * 1000, "input_length": 280, "output_length": 4, "hash_ids": [0, 1, 2, i + 10]}
        )
        for i in range(50)
    ]
    file = tmp_path / "trace.jsonl"
    file.write_text("\n".join(rows))
    options = (str(file), "--trace-block-size", "80", "--blocks", "400", "--lane")
    (large,) = report(*options, "paged:784")["lanes"]
    assert large["prefix"]["hit_tokens"] == 0
    assert large["notes"] == [
        "no prefix hits: the longest shared prefix is 240 tokens, less than one block of 784"
    ]
    (small,) = report(*options, "paged:16")["lanes"]
    assert small["prefix"]["hit_tokens"] == 49 * 240
    assert small["notes"] == []


def test_scheduler_options_change_decisions() -> None:
    plain = report("burst", "--lane", "paged", "--limit", "150")["lanes"][0]
    for option in (["--async-scheduling"], ["--long-prefill-token-threshold", "64"], ["--watermark", "0.9"]):
        changed = report("burst", "--lane", "paged", "--limit", "150", *option)["lanes"][0]
        assert changed["requests"]["finished"] == plain["requests"]["finished"]
        assert changed != plain, option


def test_speculative_decoding_is_counted_as_vllm_does() -> None:
    plain = report("burst", "--lane", "paged", "--limit", "80")
    drafted = report(
        "burst", "--lane", "paged", "--limit", "80", "--spec-method", "eagle", "--acceptance", "0.8,0.5"
    )
    assert plain["config"]["speculation"] is plain["lanes"][0]["speculation"] is None
    counted = drafted["lanes"][0]["speculation"]
    assert counted["num_draft_tokens"] > counted["num_accepted_tokens"] > 0
    # Each draft counts only where those before it are right: 0.8 + 0.8 x 0.5 + 0.8 x 0.5 x 0.5.
    assert counted["mean_accepted_length"] == pytest.approx(1 + 0.8 + 0.4 + 0.2, abs=0.1)
    assert drafted["lanes"][0]["output_tokens"] == plain["lanes"][0]["output_tokens"]
    assert drafted["lanes"][0]["steps"] < plain["lanes"][0]["steps"]


def test_drafts_without_a_method_are_those_of_a_draft_model() -> None:
    drafted = report("burst", "--lane", "paged", "--limit", "40", "--spec-tokens", "2")
    asked = {"method": "draft_model", "tokens": 2, "acceptance": [0.7], "pool_is_upper_bound": True}
    assert drafted["config"]["speculation"] == asked
    time, memory = drafted["config"]["assumed"][-2:]
    assert "time of the drafter (draft_model) is not counted" in time
    assert "memory of the drafter (draft_model" in memory
    counted = drafted["lanes"][0]["speculation"]
    accepted, wasted = counted["num_accepted_tokens"], counted["num_wasted_tokens"]
    assert accepted + wasted == counted["num_draft_tokens"]
    assert wasted > 0


@pytest.mark.parametrize("known", [("--spec-method", "ngram"), ("--spec-method", "eagle", "--blocks", "500")])
def test_a_pool_that_no_drafter_shares_is_no_upper_bound(known: tuple[str, ...]) -> None:
    config = report("burst", "--lane", "paged", "--limit", "5", *known)["config"]
    assert config["speculation"]["pool_is_upper_bound"] is False
    assert not any("memory of the drafter" in text for text in config["assumed"])


def test_a_drafter_that_is_named_has_its_memory_taken_off() -> None:
    asked = ["burst", "--lane", "paged", "--limit", "5", "--gpu", "h100-sxm"]
    unknown = report(*asked, "--spec-tokens", "2")
    known = report(*asked, "--spec-tokens", "2", "--spec-model", "llama-3.2-1b")
    assert known["config"]["speculation"]["pool_is_upper_bound"] is False
    assert known["config"]["speculation"]["method"] == "draft_model"
    shared, timed = known["config"]["assumed"][-2:]
    assert "drafts: its K and V lie in the same blocks" in shared
    assert "2 passes of it a step" in timed
    assert known["lanes"][0]["latency"]["tpot_s"]["mean"] > unknown["lanes"][0]["latency"]["tpot_s"]["mean"]
    assert known["lanes"][0]["expected_error"] == {"tpot_s": None, "ttft_s": None}
    told = kvtui("capacity", "--gpu", "h100-sxm", "--spec-model", "llama-3.2-1b", "--json").stdout
    assert known["lanes"][0]["kv"]["blocks"] == json.loads(told)["pool"]["usable_blocks"]
    assert known["lanes"][0]["kv"]["blocks"] < unknown["lanes"][0]["kv"]["blocks"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--spec-method", "ngram"), "n-grams needs no model"),
        (("--model", "gpt-oss-20b"), "layers of several kinds"),
    ],
)
def test_a_drafter_whose_memory_makes_no_sense_is_refused(asked: tuple[str, ...], said: str) -> None:
    answer = kvtui("run", "burst", "--plain", "--limit", "2", "--spec-model", "llama-3.2-1b", *asked)
    assert answer.returncode == 2
    assert said in answer.stderr


def test_a_model_with_windows_runs_by_groups_of_layers() -> None:
    asked = ["chat", "--lane", "paged", "--limit", "20", "--model", "gpt-oss-20b", "--gpu", "h100-sxm"]
    (lane,) = report(*asked)["lanes"]
    assert [group["window"] for group in lane["layer_groups"]] == [128, None]
    assert lane["requests"]["finished"] == 20


def test_blocks_are_as_large_as_the_model_makes_them() -> None:
    asked = ["chat", "--lane", "paged", "--limit", "20", "--model", "qwen3.5-35b-a3b", "--gpu", "h100-sxm"]
    (lane,) = report(*asked, "--blocks", "60")["lanes"]
    assert [group["block_size"] for group in lane["layer_groups"]] == [1056] * 4
    assert lane["kv"]["blocks"] == 60


@needs_shared
@pytest.mark.parametrize(
    "name", ["azure2023_conv_rows0000-1499.csv", "mooncake_conversation_rows0000-0999.jsonl"]
)
def test_real_traces_run_to_the_end(name: str) -> None:
    for lane in report(str(SHARED / "traces" / name))["lanes"]:
        assert lane["requests"]["unfinished"] == 0
        assert lane["requests"]["finished"] > 700


def test_without_a_terminal_the_summary_is_printed() -> None:
    done = kvtui("chat", "--limit", "20")
    assert done.returncode == 0
    assert "mean batch" in done.stdout
    assert "no full screen here" in done.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen([*KVTUI, "workloads"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 141
    assert errors == b""


@pytest.mark.parametrize("words", [["workloads"], ["--version"]])
def test_a_full_disk_is_said(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*KVTUI, *words], stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2
    assert b"cannot write the output: No space left on device" in done.stderr
    assert b"Traceback" not in done.stderr


def test_a_name_has_a_question_mark_for_what_the_output_cannot_say(tmp_path: Path) -> None:
    file = tmp_path / "bär 日本.csv"
    file.write_text("arrival,prompt_tokens,output_tokens\n0,5,3\n")
    words = [*KVTUI, str(file), "--headless"]
    said = subprocess.run(
        words, capture_output=True, env=os.environ | {"PYTHONIOENCODING": "latin-1"}, check=False
    )
    assert said.stderr == b""
    assert said.stdout.decode("latin-1").startswith("bär ??: 1 request")


def test_a_name_out_of_a_file_cannot_reach_the_terminal_raw(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    file.write_text(
        '{"kvtui_workload":1,"name":"a\\u001b[31mred\\nnew"}\n{"at_ms":0,"prompt":5,"output":3}\n'
    )
    shown = kvtui(str(file), "--headless").stdout
    assert "a[31mrednew: 1 request" in shown
    assert "\x1b" not in shown


def test_ctrl_c_while_it_loads_is_said(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import signal, sys\n"
        "class Slow:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'kvtui.cli':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = kvtui("chat", "--headless", PYTHONPATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "kvtui: interrupted\n")


def test_ctrl_c_prints_how_far_it_came(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    rows = "".join(f"{i},{1000 + i % 700},{400 + i % 300}\n" for i in range(60_000))
    file.write_text("arrived_at,num_prefill_tokens,num_decode_tokens\n" + rows)
    process = subprocess.Popen(
        [*KVTUI, str(file), "--headless", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ,
    )
    try:
        process.communicate(timeout=2.0)
        pytest.skip("the machine is too fast for this test")
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert b"interrupted" in errors
    if output:
        assert json.loads(output)["lanes"][0]["requests"]["total"] == 60_000


def test_json_without_headless_is_refused() -> None:
    assert "--json goes with --headless" in complaint("chat", "--json")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--lane", "pagde"], "did you mean paged"),
        (["--lane", "paged:blocksize=16"], "means nothing to a paged lane"),
        (["--lane", "paged:block_size=0"], "not a positive number"),
        (["--lane", "contiguous:reserve=all"], "one of max, pow2, exact"),
        (["--block-size", "0"], "at least 1 token"),
        (["--blocks", "0"], "holds nothing"),
        (["--max-len", "1"], "leaves no room"),
        (["--model", "lama-3.1-8b"], "llama-3.1-8b"),
        (["--gpu", "a11"], "a10"),
        (["--model", "llama-3.1-70b", "--gpu", "a10g"], "does not fit"),
        (["--gpu-memory-utilization", "1.5"], "at most 1"),
        (["nothing-here.csv"], "nothing-here.csv"),
        (["--seed", "3", "nothing-here.csv"], "--seed draws nothing here"),
        (["--seed", "3", "--skip", "2"], "only --limit goes with it"),
        (["--sample", "2"], "sample"),
        (["--no-such-option"], "--no-such-option"),
        (["--no-chunked-prefill", "--max-num-batched-tokens", "100"], "without chunked prefill"),
        (["--speed", "fast"], "--speed"),
        (["--vllm", "0.99"], "0.33"),
        (["--spec-method", "crystal-ball"], "no drafter"),
        (["--acceptance", "0.5"], "nothing drafts"),
        (["--spec-tokens", "2", "--acceptance", "high"], "shares from 0 to 1"),
        (["--until", "nan"], "0 or more"),
        (["--until", "-5"], "0 or more"),
        (["--speed", "0"], "above 0"),
        (["--speed", "inf"], "above 0"),
        (["--blocks", "99999999999"], "--blocks"),
        (["--tp", "3"], "cannot share them"),
        (["--max-len", "1000000000"], "reads at most"),
        (["--lane", "foo"], "contiguous"),
        (["--watermark", "1.5"], "watermark"),
        (["trace", "info"], "FILE"),
        (["decisions", "a", "b"], "-o"),
        (["decisions", "a.json", "b.jsonl", "-o", "c.jsonl"], "a.json"),
        (["--lane", "paged"] * 1 + ["--lane", "paged"] * 4, "side by side"),
    ],
)
def test_mistakes(args: list[str], said: str, tmp_path: Path) -> None:
    assert said in complaint(
        *args, *([] if args[0] in ("trace", "decisions") else ["--headless"]), cwd=tmp_path
    )


@pytest.mark.parametrize("command", ["run", "advise", "block-sizes"])
def test_a_pool_too_large_to_simulate(command: str) -> None:
    headless = ["--headless"] if command == "run" else []
    assert "than the 20,000,000" in complaint(command, "chat", "--blocks", "1" + "0" * 14, *headless)


@pytest.mark.parametrize("said", ["GPU KV cache size: {} tokens", "# GPU blocks: {}"])
def test_a_log_of_a_pool_too_large_to_simulate(tmp_path: Path, said: str) -> None:
    (tmp_path / "vllm.log").write_text(said.format("9" * 30) + "\n")
    words = complaint("run", "chat", "--headless", "--from-log", "vllm.log", cwd=tmp_path)
    assert "than the 20,000,000" in words
    assert "vllm.log" in words


def test_a_log_with_endless_numbers_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "vllm.log").write_text(f"GPU KV cache size: {'9' * 400} tokens\n")
    words = complaint("run", "chat", "--headless", "--from-log", "vllm.log", cwd=tmp_path)
    assert "says nothing about KV memory" in words


def test_a_load_beyond_any_is_refused_before_a_cell_runs() -> None:
    assert "at most 1e+12" in complaint("sweep", "chat", "--load", "1e308")


def test_a_kv_type_is_that_of_all_lanes_that_do_not_say_their_own() -> None:
    lanes = ("--lane", "paged", "--lane", "paged:kv_dtype=auto")
    done = kvtui("burst", "--headless", "--json", "--limit", "5", "--kv-cache-dtype", "fp8_e4m3", *lanes)
    assert [lane["kv_dtype"] for lane in json.loads(done.stdout)["lanes"]] == ["fp8", "auto"]
    assert "unknown KV type" in complaint("burst", "--headless", "--kv-dtype", "zorb")
