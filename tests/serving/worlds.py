"""Random small worlds: a configuration and a trace of the decision format, harsh on purpose."""

from __future__ import annotations

import random
from typing import Any

World = tuple[dict[str, Any], list[dict[str, Any]]]


def world(seed: int) -> World:
    """A world in which pools are tight, prompts share prefixes and quote answers, clients leave."""
    rng = random.Random(seed)
    size = rng.choice([1, 2, 4, 4, 8, 16])
    longest = rng.choice([4, 8, 20]) * size
    blocks = rng.choice([longest // size + 2, rng.randint(6, 40), rng.randint(20, 120)])
    config: dict[str, Any] = {
        "num_gpu_blocks": max(blocks, 3),
        "block_size": size,
        "max_num_batched_tokens": rng.choice([3, 8, 16, 64, 256]) + size,
        "max_num_seqs": rng.choice([1, 2, 4, 8, 64]),
        "max_model_len": rng.choice([longest, 2 * longest, 4096]),
        "enable_prefix_caching": rng.random() < 0.75,
        "enable_chunked_prefill": rng.random() < 0.85,
        "policy": rng.choice(["fcfs", "priority"]),
    }
    config |= _rare_options(rng, config)
    lines = [_request(rng, i, longest, config) for i in range(rng.randint(2, 24))]
    return config, lines


def _rare_options(rng: random.Random, config: dict[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["long_prefill_token_threshold"] = rng.randint(1, 12)
        options["long_prefill_token_threshold_adaptive"] = rng.random() < 0.4
    if rng.random() < 0.3:
        options["watermark"] = rng.choice([0.01, 0.1, 0.3])
    if rng.random() < 0.25:
        options["scheduler_reserve_full_isl"] = False
    if rng.random() < 0.2:
        options["max_num_active_seqs"] = rng.randint(1, config["max_num_seqs"])
    if rng.random() < 0.15:
        options["max_num_scheduled_tokens"] = rng.randint(1, config["max_num_batched_tokens"])
    return options


def _request(rng: random.Random, i: int, longest: int, config: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": f"r{i:02d}",
        "arrival_step": rng.choice([0, 0, i, rng.randint(0, 40), rng.randint(0, 200)]),
        "output_tokens": rng.choice([1, 2, rng.randint(1, 12), rng.randint(1, 60)]),
    }
    row |= _prompt(rng, i, longest)
    if rng.random() < 0.2:
        row["max_tokens"] = row["output_tokens"] + rng.randint(0, 5)
    if config["policy"] == "priority":
        row["priority"] = rng.randint(0, 2)
        if rng.random() < 0.2:
            row["arrival_time"] = rng.choice([0.0, 1.0, 2.5])
    if rng.random() < 0.12:
        row["abort_step"] = row["arrival_step"] + rng.choice([0, 1, rng.randint(0, 40)])
    if rng.random() < 0.1:
        row["n"] = rng.randint(2, 4)
    if rng.random() < 0.1:
        row["cache_salt"] = rng.choice(["a", "b"])
    if rng.random() < 0.1:
        row["skip_reading_prefix_cache"] = True
    return row


def _prompt(rng: random.Random, i: int, longest: int) -> dict[str, Any]:
    total = rng.randint(1, longest)
    if rng.random() < 0.4:
        return {"prompt_tokens": total}
    parts: list[list[Any]] = []
    if rng.random() < 0.8:
        parts.append([f"system{rng.randint(0, 2)}", rng.randint(1, longest)])
    if i and rng.random() < 0.5:
        other = rng.randrange(i)
        parts.append([f"req:r{other:02d}", rng.randint(1, longest)])
        if rng.random() < 0.6:
            parts.append([f"out:r{other:02d}", rng.randint(1, 20)])
    if not parts or rng.random() < 0.7:
        parts.append([f"own{i}", rng.randint(1, max(longest // 2, 1))])
    return {"prompt_segments": parts, "prompt_tokens": sum(n for _, n in parts)}
