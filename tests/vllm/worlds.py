"""Random small worlds for the real scheduler: every option that decides something, in valid combinations.

vLLM refuses some configurations (a budget below `max_num_seqs`, or below `max_model_len` when chunked prefill
is off), so these worlds keep to what it accepts; within that they are harsh on purpose.
"""

from __future__ import annotations

import random
from typing import Any

from tests.serving.worlds import World

MAX_STEPS = 1_000  # some worlds go round in circles for ever, in vLLM too


def world(seed: int, *, asynchronous: bool = False) -> World:
    """A world in which pools are tight, prompts share prefixes and quote answers, clients leave."""
    rng = random.Random(f"vllm {seed}")
    size = rng.choice([1, 2, 3, 4, 4, 8, 16])
    longest = rng.choice([2, 4, 8, 20]) * size
    config = _config(rng, size, longest)
    config |= _rare_options(rng, config)
    if asynchronous:
        config["async_scheduling"] = True
    count = rng.choice([rng.randint(2, 8), rng.randint(2, 24), rng.randint(20, 40)])
    busy = rng.choice([0, 1, 3, 8])
    names = [f"{rng.choice('abc')}{i:02d}" for i in range(count)]  # ids that are not in order of arrival
    lines = [_request(rng, names, i, longest, busy, config) for i in range(count)]
    config["num_gpu_blocks"] = _pool(rng, lines, config)
    return config, lines


def _config(rng: random.Random, size: int, longest: int) -> dict[str, Any]:
    seqs = rng.choice([1, 2, 4, 8, 64, 64])
    length = rng.choice([longest + size // 2 + 1, 2 * longest + 20, 4096, 4096])
    chunked = rng.random() < 0.8
    budget = max(rng.choice([3, 8, 16, 64, 256]) + rng.choice([0, size]), seqs, 1 if chunked else length)
    return {
        "block_size": size,
        "max_num_batched_tokens": budget,
        "max_num_seqs": seqs,
        "max_model_len": length,
        "enable_prefix_caching": rng.random() < 0.75,
        "enable_chunked_prefill": chunked,
        "policy": rng.choice(["fcfs", "priority"]),
        "max_steps": MAX_STEPS,
    }


def _pool(rng: random.Random, lines: list[dict[str, Any]], config: dict[str, Any]) -> int:
    """Blocks, the null block included: seldom too few for the largest request, often too few for all."""
    size, length = config["block_size"], config["max_model_len"]
    needs = [_blocks(row, size, length) for row in lines if _tokens(row) < length] or [1]
    largest, together = max(needs), sum(needs)
    roomy = int(largest + rng.uniform(0, 0.6) * (together - largest)) + 1
    return max(2, rng.choice([largest + 1, largest + 2, roomy, roomy, roomy, rng.randint(2, largest + 2)]))


def _blocks(row: dict[str, Any], size: int, length: int) -> int:
    return -(-min(_tokens(row) + row["output_tokens"], length) // size)


def _tokens(row: dict[str, Any]) -> int:
    tokens = row["prompt_tokens"]
    return len(tokens) if isinstance(tokens, list) else int(tokens)


def _rare_options(rng: random.Random, config: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["long_prefill_token_threshold"] = rng.randint(1, min(12, config["max_model_len"]))
        options["long_prefill_token_threshold_adaptive"] = rng.random() < 0.4
    if rng.random() < 0.3:
        options["watermark"] = rng.choice([0.01, 0.1, 0.3])
    if rng.random() < 0.25:
        options["scheduler_reserve_full_isl"] = False
    if rng.random() < 0.2:
        options["max_num_active_seqs"] = rng.randint(1, config["max_num_seqs"])
    if rng.random() < 0.25:
        most = min(config["max_num_batched_tokens"] + 4, 40)
        least = most if not config["enable_chunked_prefill"] and rng.random() < 0.8 else 1
        options["max_num_scheduled_tokens"] = rng.randint(least, max(most, least + 20))
    if rng.random() < 0.15:
        options["hash_id_block"] = rng.choice([1, 2, 3, 5, 7]) * rng.choice([1, config["block_size"]])
    if rng.random() < 0.1:
        options["record_free_queue"] = True
    return options


def _request(
    rng: random.Random, names: list[str], i: int, longest: int, busy: int, config: dict[str, Any]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": names[i],
        "arrival_step": rng.choice([0, i * busy, i * busy, rng.randint(0, 40), rng.randint(0, 200)]),
        "output_tokens": rng.choice(
            [rng.randint(1, 2), rng.randint(1, 12), rng.randint(1, 60), rng.randint(20, 60)]
        ),
    }
    row |= _prompt(rng, names, i, longest, config)
    if rng.random() < 0.2:
        row["max_tokens"] = row["output_tokens"] + rng.randint(0, 5)
    if rng.random() < 0.1:
        spare = [7, 7]  # a model that runs ahead emits more before its end is noticed
        row["output_token_ids"] = _literals(rng, row["output_tokens"]) + spare
    if config["policy"] == "priority" or rng.random() < 0.1:
        row["priority"] = rng.randint(0, 2)
        if rng.random() < 0.3:
            row["arrival_time"] = rng.choice([0.0, 1.0, 2.5])
    if rng.random() < 0.12:
        row["abort_step"] = max(row["arrival_step"] + rng.choice([-1, 0, 1, rng.randint(0, 40)]), 0)
    if rng.random() < 0.1:
        row["n"] = rng.randint(2, 4)
    if rng.random() < 0.1:
        row["cache_salt"] = rng.choice(["a", "b"])
    if rng.random() < 0.1:
        row["skip_reading_prefix_cache"] = True
    return row


def _prompt(
    rng: random.Random, names: list[str], i: int, longest: int, config: dict[str, Any]
) -> dict[str, Any]:
    kind = rng.random()
    total = rng.randint(1, longest)
    if kind < 0.3:
        return {"prompt_tokens": total}
    if kind < 0.4:
        return {"prompt_tokens": _literals(rng, total)}
    if kind < 0.5:
        per = config.get("hash_id_block") or config["block_size"]
        return {"prompt_tokens": total, "hash_ids": _hash_ids(rng, -(-total // per))}
    parts = _segments(rng, names, i, longest)
    return {"prompt_segments": parts, "prompt_tokens": sum(n for _, n in parts)}


def _literals(rng: random.Random, n: int) -> list[int]:
    """Token ids of so few kinds that runs of them are often equal."""
    return [rng.choice([7, 7, 7, 8]) for _ in range(n)]


def _hash_ids(rng: random.Random, n: int) -> list[int]:
    start = rng.choice([0, 0, 0, 100])
    shared = rng.randint(0, n)
    own = rng.randint(1000, 1_000_000)
    return [start + j if j < shared else own + j for j in range(n)]


def _segments(rng: random.Random, names: list[str], i: int, longest: int) -> list[list[Any]]:
    """System prompts, and turns that quote an earlier request and its answer."""
    parts: list[list[Any]] = []
    if rng.random() < 0.8:
        parts.append([f"system{rng.randint(0, 2)}", rng.randint(1, longest)])
    if i and rng.random() < 0.5:
        other = names[rng.randrange(i)]
        parts = parts if rng.random() < 0.5 else []
        parts.append([f"req:{other}", rng.randint(1, longest)])
        if rng.random() < 0.6:
            parts.append([f"out:{rng.choice(['', '0_', '1_'])}{other}", rng.randint(1, 20)])
    if not parts or rng.random() < 0.7:
        parts.append([f"own{i}", rng.randint(1, max(longest // 2, 1))])
    return parts
