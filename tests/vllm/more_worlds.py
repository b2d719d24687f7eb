"""Random worlds with drafts, windows and several groups of layers, in the formats of `oracle_more.py`."""

from __future__ import annotations

import random
from typing import Any

from tests.serving.worlds import World
from tests.vllm.worlds import world

METHODS = ("ngram", "draft_model", "pard", "eagle", "eagle3", "mtp", "mtp_modules", "dflash")
KINDS = ("spec", "window", "both")
STATE_KINDS = ("state", "drafted state")


def more_world(seed: int, kind: str, *, asynchronous: bool = False) -> World:
    """A world of `tests.vllm.worlds` with speculative decoding ("spec"), windows ("window") or "both"; with
    states beside attention ("state"), and drafts too ("drafted state")."""
    config, lines = world(seed, asynchronous=asynchronous)
    rng = random.Random(f"{kind} {seed}")
    if kind in ("window", "both"):
        config |= _windows(rng, config["block_size"])
        tables = rng.uniform(0.6, 1.5 + len(set(config["layers"])))
        config["num_gpu_blocks"] = int(config["num_gpu_blocks"] * tables) + 2
    if kind in ("state", "drafted state"):
        config |= _states(rng, config)
        tables = rng.uniform(0.8, 1 + len(config["layers"]))
        config["num_gpu_blocks"] = int(config["num_gpu_blocks"] * tables) + 2
    if kind in ("spec", "both", "drafted state"):
        config |= _drafter(rng, config, asynchronous=asynchronous)
        for row in lines:
            row |= _script(rng, config["num_speculative_tokens"], config["spec_method"])
        config["num_gpu_blocks"] += rng.choice([0, 1, 3])
    return config, lines


def _windows(rng: random.Random, size: int) -> dict[str, Any]:
    """Layers of one to three kinds."""
    full = ["full"] * rng.choice([0, 1, 1, 2, 4])
    window = f"sliding:{rng.choice([2, size + 1, 2 * size, rng.randint(2, 6 * size), 12 * size])}"
    other = f"sliding:{rng.randint(2, 8 * size)}"
    layers = full + [window] * rng.choice([1, 1, 2, 5]) + [other] * rng.choice([0, 0, 0, 1, 2])
    if rng.random() < 0.2:
        layers = [text + "*2" if rng.random() < 0.5 else text for text in layers]
    rng.shuffle(layers)
    options: dict[str, Any] = {"layers": layers}
    if rng.random() < 0.5:
        unit = size * (2 if any("*" in text for text in layers) else 1)
        options["prefix_cache_retention_interval"] = rng.choice([None, unit, 3 * unit])
    return options


def _states(rng: random.Random, config: dict[str, Any]) -> dict[str, Any]:
    """Layers with states, attention and seldom a window."""
    size = config["block_size"]
    state = rng.choice(["mamba", "mamba2"])
    layers = ["full"] * rng.choice([1, 1, 2]) + [state] * rng.choice([1, 1, 2, 3, 5])
    layers += [f"sliding:{rng.randint(2, 6 * size)}"] * rng.choice([0, 0, 0, 0, 1])
    rng.shuffle(layers)
    options: dict[str, Any] = {"layers": layers}
    if config["enable_prefix_caching"]:
        options["enable_chunked_prefill"] = True  # vLLM insists on it
        if rng.random() < 0.5:
            options["prefix_cache_retention_interval"] = rng.choice([None, size, 3 * size])
    return options


def _drafter(rng: random.Random, config: dict[str, Any], *, asynchronous: bool) -> dict[str, Any]:
    drafts = rng.choice([1, 2, 3, 5])
    method = rng.choice(METHODS[1:] if asynchronous else METHODS)
    if method == "mtp_modules":
        drafts = min(drafts, config["block_size"])  # vLLM insists on it
    options: dict[str, Any] = {"spec_method": method, "num_speculative_tokens": drafts}
    options["max_num_batched_tokens"] = config["max_num_batched_tokens"] + drafts
    cap = config.get("long_prefill_token_threshold", 0)
    if cap:  # a smaller cap than 1 + drafts makes vLLM stop with an assertion when it pads
        options["long_prefill_token_threshold"] = min(max(cap, 1 + drafts), config["max_model_len"])
        if options["long_prefill_token_threshold"] <= drafts:
            options["long_prefill_token_threshold"] = 0
    return options


def _script(rng: random.Random, drafts: int, method: str) -> dict[str, Any]:
    """Which drafts are right, and for n-gram look-up how many there are."""
    mood = rng.choice(["never", "always", "mixed", "mixed"])
    likely = {"never": [0], "always": [drafts], "mixed": list(range(drafts + 1))}[mood]
    row: dict[str, Any] = {"accept": [rng.choice(likely) for _ in range(8)]}
    if method == "ngram":
        row["drafts"] = [rng.choice([0, rng.randint(0, drafts), drafts]) for _ in range(8)]
    return row
