"""What each kind of server publishes, in the forms that its releases have had."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from kvtui.live.poll import Poller, attach
from kvtui.live.report import lane, line
from tests.live.fake import serving, vllm_page


@contextmanager
def attached(pages: dict[str, object], *, split: bool | None = None) -> Iterator[Poller]:
    texts = {path: page if isinstance(page, str | int) else json.dumps(page) for path, page in pages.items()}
    with serving(texts) as server:
        yield attach(server.url, split=split)


def test_vllm_of_the_first_release_of_v1() -> None:
    """0.8: other names for KV use and prefix cache, and no cache configuration worth the name."""
    labels = '{model_name="m"}'
    page = (
        f"vllm:num_requests_running{labels} 3\nvllm:num_requests_waiting{labels} 0\n"
        f"vllm:gpu_cache_usage_perc{labels} 0.25\nvllm:gpu_prefix_cache_queries_total{labels} 100\n"
        f"vllm:gpu_prefix_cache_hits_total{labels} 25\nvllm:num_preemptions_total{labels} 2\n"
        'vllm:cache_config_info{block_size="16",num_gpu_blocks="101",sliding_window="None"} 1\n'
    )
    with attached({"/metrics": page}) as poller:
        shown = lane(poller.last)
    assert shown["kv"] == {
        "usage": 0.25,
        "cached": None,
        "blocks": 100,
        "block_size": 16,
        "pool_tokens": 1600,
    }
    assert shown["prefix"]["hit_rate"] == 0.25
    assert shown["server"]["version"] is None
    assert shown["requests"] == {
        "running": 3,
        "waiting": 0,
        "finished": None,
        "preemptions": 2,
        "total": None,
        "rejected": None,
        "unfinished": None,
    }


def test_vllm_that_does_not_say_how_large_its_pool_is() -> None:
    config = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="None"} 1\n'
    with attached({"/metrics": vllm_page(more=config)}) as poller:
        shown = lane(poller.last)
    assert (shown["kv"]["blocks"], shown["kv"]["block_size"], shown["kv"]["pool_tokens"]) == (None, 16, None)


LOADS = {
    "version": "0.5.23",
    "loads": [
        {
            "dp_rank": rank,
            "num_running_reqs": 3 + rank,
            "num_waiting_reqs": rank,
            "num_used_tokens": 500,
            "max_total_num_tokens": 1000,
            "token_usage": 0.5 + rank / 10,
            "gen_throughput": 100.5,
            "cache_hit_rate": 0.25,
            "max_running_requests": 48,
        }
        for rank in range(2)
    ],
}


def test_sglang_by_its_loads() -> None:
    with attached({"/v1/loads": LOADS, "/server_info": {"model_path": "q", "page_size": 1}}) as poller:
        shown = lane(poller.last)
    assert (shown["server"]["kind"], shown["server"]["model"]) == ("sglang", "q")
    assert shown["server"]["version"] == "0.5.23"
    assert shown["requests"]["running"] == 7
    assert shown["requests"]["waiting"] == 1
    assert shown["requests"]["preemptions"] is None
    assert shown["kv"]["usage"] == pytest.approx(0.55)
    assert shown["origin"]["kv.usage"] == "derived"  # a mean of two
    assert shown["kv"]["pool_tokens"] == 2000
    assert shown["prefix"]["hit_rate"] == 0.25
    assert shown["throughput"]["output_tokens_per_s"] == 201
    assert shown["origin"]["throughput.output_tokens_per_s"] == "reported"


def test_sglang_by_its_metrics() -> None:
    names = {
        "num_running_reqs": 5,
        "num_queue_reqs": 2,
        "token_usage": 0.28,
        "kv_evictable_tokens": 250,
        "max_total_num_tokens": 1000,
        "num_retracted_requests_total": 4,
        "cache_hit_rate": 0.1,
    }
    page = "".join(f'sglang:{name}{{model_name="m"}} {value}\n' for name, value in names.items())
    with attached({"/metrics": page}) as poller:
        shown = lane(poller.last)
    assert shown["requests"]["running"] == 5
    assert shown["requests"]["preemptions"] == 4
    assert (shown["kv"]["usage"], shown["kv"]["cached"]) == (0.28, 0.25)
    assert shown["kv"]["blocks"] is None  # no page size said


def test_sglang_that_only_tells_its_settings() -> None:
    with attached({"/get_server_info": {"max_total_num_tokens": 64, "page_size": 16}}) as poller:
        shown = lane(poller.last)
    assert shown["kv"] == {
        "usage": None,
        "cached": None,
        "blocks": 4,
        "block_size": 16,
        "pool_tokens": 64,
    }
    assert "running n/a" in line(poller.last)


def slot(number: int, tokens: int, *, busy: bool, as_list: bool = True) -> dict[str, object]:
    following = {"n_decoded": 7, "n_remain": 3}
    return {
        "id": number,
        "n_ctx": 1000,
        "is_processing": busy,
        "n_prompt_tokens": tokens,
        "n_prompt_tokens_cache": 10,
        "prompt": "secret words",
        "next_token": [following] if as_list else following,
    }


@pytest.mark.parametrize("as_list", [True, False])
def test_llama_cpp_with_slots_of_their_own(as_list: bool) -> None:
    slots = [slot(0, 600, busy=True, as_list=as_list), slot(1, 500, busy=False, as_list=as_list)]
    with attached({"/slots": slots, "/props": {"model_path": "x.gguf", "total_slots": 2}}) as poller:
        shown = lane(poller.last)
    assert shown["server"]["kind"] == "llama.cpp"
    assert shown["requests"]["running"] == 1
    assert shown["requests"]["waiting"] is None  # only /metrics tells
    assert (shown["kv"]["usage"], shown["kv"]["cached"]) == (0.3, 0.25)  # 1,100 > 1,000 proves split slots
    assert shown["kv"]["pool_tokens"] == 2000
    assert shown["slots"][0]["generated"] == 7
    assert "secret" not in json.dumps(shown)


def test_llama_cpp_that_leaves_open_how_slots_share() -> None:
    pages = {"/slots": [slot(n, 100, busy=n == 0) for n in range(4)]}
    with attached(pages) as poller:
        assert lane(poller.last)["kv"]["usage"] is None
        assert "say --slots split" in poller.last.notes[0]
    with attached(pages, split=False) as poller:
        assert lane(poller.last)["kv"]["usage"] == 0.1
    with attached(pages, split=True) as poller:
        assert lane(poller.last)["kv"]["usage"] == 0.025


def test_llama_cpp_by_metrics_alone() -> None:
    page = "llamacpp:requests_processing 2\nllamacpp:requests_deferred 1\nllamacpp:tokens_predicted_total 9\n"
    with attached({"/metrics": page, "/slots": 501}) as poller:
        shown = lane(poller.last)
    assert (shown["requests"]["running"], shown["requests"]["waiting"]) == (2, 1)
    assert shown["kv"]["usage"] is None
    assert shown["output_tokens"] == 9


def test_tensorrt_llm() -> None:
    names = {
        "kv_cache_max_blocks": 200,
        "kv_cache_used_blocks": 50,
        "kv_cache_tokens_per_block": 32,
        "kv_cache_hit_rate": 0.4,
        "num_requests_running": 6,
        "num_requests_waiting": 2,
    }
    page = "".join(f'trtllm_{name}{{model_name="m"}} {value}\n' for name, value in names.items())
    with attached({"/metrics": "[]", "/prometheus/metrics": page}) as poller:
        shown = lane(poller.last)
    assert shown["server"]["kind"] == "tensorrt-llm"
    assert shown["requests"]["running"] == 6
    assert shown["kv"] == {
        "usage": 0.25,
        "cached": None,
        "blocks": 200,
        "block_size": 32,
        "pool_tokens": 6400,
    }
    assert (shown["origin"]["kv.usage"], shown["origin"]["prefix.hit_rate"]) == ("derived", "reported")


def test_triton_with_tensorrt_llm() -> None:
    kv = {"max": 100, "used": 10, "free": 90, "tokens_per": 64}
    requests = {"scheduled": 4, "waiting": 1, "max": 128, "active": 5}
    page = "".join(
        f'nv_trt_llm_kv_cache_block_metrics{{kv_cache_block_type="{k}",model="m",version="1"}} {v}\n'
        for k, v in kv.items()
    ) + "".join(
        f'nv_trt_llm_request_metrics{{model="m",request_type="{k}",version="1"}} {v}\n'
        for k, v in requests.items()
    )
    with attached({"/metrics": page}) as poller:
        shown = lane(poller.last)
    assert (shown["requests"]["running"], shown["requests"]["waiting"]) == (4, 1)
    assert (shown["kv"]["usage"], shown["kv"]["pool_tokens"]) == (0.1, 6400)


def test_tgi_says_nothing_about_memory() -> None:
    page = "tgi_batch_current_size 7\ntgi_queue_size 3\ntgi_request_success 12\n"
    info = {"model_id": "m", "version": "3.0"}
    with attached({"/metrics": page, "/info": info}) as poller:
        shown = lane(poller.last)
    assert (shown["server"]["kind"], shown["server"]["version"]) == ("tgi", "3.0")
    assert (shown["requests"]["running"], shown["requests"]["waiting"]) == (7, 3)
    assert shown["requests"]["finished"] == 12
    assert set(shown["kv"].values()) == {None}
    assert "KV n/a" in line(poller.last)


def test_ollama_tells_what_is_loaded() -> None:
    models = [{"name": "llama3:8b", "size": 8_000, "size_vram": 6_000}]
    with attached({"/api/ps": {"models": models}, "/api/version": {"version": "0.9"}}) as poller:
        shown = lane(poller.last)
    assert (shown["server"]["kind"], shown["server"]["model"]) == ("ollama", "llama3:8b")
    assert shown["requests"]["running"] is None
    assert shown["notes"][0] == "llama3:8b: 75% in GPU memory"


@pytest.mark.parametrize(
    "answer", ['{"models": 3}', "[1, 2]", '[{"id": 0}]', "null", '{"loads": [3]}', "[" * 100_000]
)
def test_json_of_another_shape_is_no_server(answer: str) -> None:
    from kvtui.live.servers import UnknownServer

    pages = dict.fromkeys(("/slots", "/v1/loads", "/server_info", "/api/ps", "/props"), answer)
    with pytest.raises(UnknownServer), attached(pages):
        pass
