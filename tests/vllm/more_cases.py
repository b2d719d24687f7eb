"""Small worlds made by hand, one for each rule of drafts and windows, and the real scheduler's decisions.

KVTUI_VLLM_PYTHON=.../bin/python python -m tests.vllm.more_cases [NAME...]     records them, or all, anew
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from tests.serving.worlds import World
from tests.vllm.real import MORE_ORACLE, RealScheduler, why_not

RECORDINGS = Path(__file__).with_name("recordings")


def ask(id: str, at: int, prompt: int | list[list[Any]], out: int, **more: Any) -> dict[str, Any]:
    """One line of a trace; a list is a prompt of named runs."""
    row = {"id": id, "arrival_step": at, "output_tokens": out, **more}
    return row | ({"prompt_tokens": prompt} if isinstance(prompt, int) else {"prompt_segments": prompt})


def spec(lines: list[dict[str, Any]], method: str = "ngram", **options: Any) -> World:
    """A roomy configuration with a drafter of three tokens."""
    config = {"num_gpu_blocks": 60, "block_size": 4, "max_num_batched_tokens": 64, "max_num_seqs": 8}
    config |= {"max_model_len": 100, "spec_method": method, "num_speculative_tokens": 3}
    return config | options, lines


def window(lines: list[dict[str, Any]], layers: str = "sliding:8", **options: Any) -> World:
    """A roomy configuration with the given layers, by commas."""
    config = {"num_gpu_blocks": 60, "block_size": 4, "max_num_batched_tokens": 64, "max_num_seqs": 8}
    return config | {"max_model_len": 100, "layers": layers.split(",")} | options, lines


ONE = [ask("a", 0, 10, 12, accept=[2, 0, 3])]
SYSTEM = ["system", 24]
TURNS = [
    ask("a", 0, [SYSTEM, ["a", 9]], 3),
    ask("b", 6, [SYSTEM, ["b", 9]], 3),
    ask("c", 12, [SYSTEM, ["c", 9]], 3),
]
AGAIN = [ask("a", 0, 33, 9), ask("b", 12, [["req:a", 33]], 3), ask("c", 18, [["req:a", 33], ["out:a", 9]], 3)]
CROWD = [ask(f"r{i}", 0, 9, 14, accept=[i % 4, 3, 0]) for i in range(4)]
THREE = [ask(f"r{i}", 0, 6 + i, 8, accept=[1, 3]) for i in range(3)]

BUDGET = {"max_num_seqs": 16, "max_num_batched_tokens": 24, "max_model_len": 24, "block_size": 2}
QUOTE = [["req:d0", 4], ["out:d0", 12], ["own", 6]]

CASES: dict[str, World] = {
    # ---- neither
    "budget-refusal-ends-with-a-hit": (
        {"num_gpu_blocks": 200, "enable_chunked_prefill": False, **BUDGET},
        [*(ask(f"d{i}", 0, 4, 15) for i in range(9)), ask("q", 3, QUOTE, 1)],
    ),
    # ---- drafts: what is scheduled, where slots come from
    "spec-ngram": spec(ONE),
    "spec-eagle-lookahead": spec(ONE, "eagle"),
    "spec-dflash-lookahead": spec(ONE, "dflash"),
    "spec-some-drafts": spec([ask("a", 0, 10, 14, accept=[3], drafts=[0, 1, 0, 3, 2])]),
    "spec-budget-cuts-drafts": spec(THREE, max_num_scheduled_tokens=9),
    "spec-cap-cuts-drafts": spec(THREE, long_prefill_token_threshold=2),
    "spec-max-model-len": spec([ask("a", 0, 10, 30, accept=[3]), ask("b", 0, 9, 30)], max_model_len=20),
    "spec-max-tokens": spec([ask("a", 0, 10, 3, accept=[3]), ask("b", 0, 10, 2, accept=[3])]),
    "spec-end-of-sequence": spec([ask("a", 0, 10, 4, accept=[3], max_tokens=20), ask("b", 0, 10, 9)]),
    "spec-preempted": spec(CROWD, "eagle", num_gpu_blocks=16),
    "spec-preempted-priority": spec(
        [row | {"priority": i % 2} for i, row in enumerate(CROWD)], num_gpu_blocks=14, policy="priority"
    ),
    "spec-chunked-prompt": spec(
        [ask("a", 0, 4, 20, accept=[1]), ask("b", 2, 40, 6)], max_num_batched_tokens=12
    ),
    "spec-padded": spec(
        [
            ask("a", 0, [["x", 13]], 12, accept=[0]),
            ask("b", 2, [["x", 13]], 6, accept=[1]),  # finds 12 of 13 tokens: made as wide as a decode
            ask("c", 4, 30, 4),
            ask("d", 4, [["x", 13]], 3),
            ask("e", 5, 1, 3),
        ]
    ),
    "spec-padded-or-not-at-all": spec(
        [ask("a", 0, [["x", 13]], 9), ask("b", 5, [["x", 13]], 4)], max_num_scheduled_tokens=6
    ),
    "spec-not-padded-beside-a-prompt": spec(
        [ask("a", 0, [["x", 13]], 9), ask("b", 2, 40, 2), ask("c", 3, [["x", 13]], 4)],
        max_num_batched_tokens=20,
        long_prefill_token_threshold=13,
    ),
    "spec-eagle-hits": spec(AGAIN, "eagle"),
    "spec-mtp-modules": spec(AGAIN, "mtp_modules", max_num_batched_tokens=16),
    "spec-draft-model-slots": spec(THREE, "draft_model", max_num_batched_tokens=13),
    "spec-pard-slots": spec(THREE, "pard", max_num_batched_tokens=13),
    "spec-async": spec(CROWD, "eagle", async_scheduling=True),
    "spec-async-preempted": spec(CROWD, "eagle", async_scheduling=True, num_gpu_blocks=16),
    # ---- windows: one group
    "window-decode": window([ask("a", 0, 5, 20)]),
    "window-chunked-prompt": window([ask("a", 0, 60, 4)], max_num_batched_tokens=10),
    "window-admission": window(
        [ask("a", 0, 60, 4), ask("b", 0, 30, 4), ask("c", 0, 20, 4)],
        max_num_batched_tokens=16,
        num_gpu_blocks=18,
    ),
    "window-same-prompt-again": window(AGAIN),
    "window-shared-prefix": window(TURNS),
    "window-shared-prefix-dense": window(TURNS, prefix_cache_retention_interval=None),
    "window-shared-prefix-every-12": window(TURNS, prefix_cache_retention_interval=12),
    "window-preempted": window([ask(f"r{i}", 0, 12, 20) for i in range(4)], "sliding:16", num_gpu_blocks=15),
    # ---- hybrids
    "hybrid-decode": window([ask("a", 0, 20, 12)], "full,sliding:8"),
    "hybrid-shared-prefix": window(TURNS, "full,sliding:8"),
    "hybrid-shared-prefix-dense": window(TURNS, "full,sliding:8", prefix_cache_retention_interval=None),
    "hybrid-two-windows": window(AGAIN, "sliding:8,sliding:16,full"),
    "hybrid-five-to-one": window(AGAIN, ",".join((["sliding:8"] * 5 + ["full"]) * 2), num_gpu_blocks=120),
    "hybrid-padded-layers": window(AGAIN, ",".join(["sliding:8", "full"] * 3 + ["full"])),
    "hybrid-page-sizes": window(AGAIN, "full*2,sliding:8"),
    "hybrid-admission": window(
        [ask("a", 0, 60, 4), ask("b", 0, 30, 4)],
        "full,sliding:8",
        max_num_batched_tokens=16,
        num_gpu_blocks=26,
    ),
    "hybrid-preempted": window(
        [ask(f"r{i}", 0, 12, 20) for i in range(4)], "full,sliding:8", num_gpu_blocks=24
    ),
    "hybrid-async": window(AGAIN, "full,sliding:8", async_scheduling=True),
    # ---- states beside attention
    "state-chunks-end-at-blocks": window([ask("a", 0, 30, 8)], "full,mamba", max_num_batched_tokens=11),
    "state-saved-on-the-way": window([ask("a", 0, 30, 8)], "full,mamba2", max_num_batched_tokens=11),
    "state-block-wider-than-a-step": window(
        [ask("a", 0, 30, 8)], "full,mamba", max_num_batched_tokens=3, max_num_seqs=2
    ),
    "state-in-the-making": window(
        [ask("a", 0, [["x", 16]], 3), ask("b", 0, [["x", 18]], 3), ask("c", 1, [["x", 18]], 3)], "full,mamba"
    ),
    "state-shared-prefix": window(TURNS, "full,mamba,mamba,mamba"),
    "state-shared-prefix-dense": window(TURNS, "full,mamba2", prefix_cache_retention_interval=None),
    "state-shared-prefix-every-12": window(TURNS, "full,mamba", prefix_cache_retention_interval=12),
    "state-beside-a-window": window(TURNS, "full,sliding:8,mamba"),
    "state-without-prefix-cache": window(TURNS, "full,mamba,mamba", enable_prefix_caching=False),
    "state-preempted": window(
        [ask(f"r{i}", 0, 12, 20) for i in range(4)], "full,mamba2,full", num_gpu_blocks=26
    ),
    "state-async": window(AGAIN, "full,mamba", async_scheduling=True),
    "state-mtp": window([row | {"accept": [1, 3]} for row in AGAIN], "full,mamba,full", spec_method="mtp"),
    "state-ngram": window([row | {"accept": [0, 2]} for row in TURNS], "full,mamba2", spec_method="ngram"),
    "hybrid-eagle": window(
        [row | {"accept": [1, 3]} for row in AGAIN], "full,sliding:8", spec_method="eagle"
    ),
    "hybrid-mtp": window(
        [row | {"accept": [1, 3]} for row in AGAIN], "full,sliding:8,full", spec_method="mtp"
    ),
}


PLAIN = [name for name in CASES if not name.startswith("state-")]  # that the plain simulator knows


def read(name: str) -> tuple[World, list[dict[str, Any]]]:
    """A recorded case: the world and the real decisions."""
    with gzip.open(RECORDINGS / f"{name}.json.gz", "rt") as stream:
        case = json.load(stream)
    return (case["config"], case["lines"]), case["decisions"]


def write(name: str, world: World, decisions: list[dict[str, Any]], *, version: str) -> None:
    """Keep a case; the same case makes the same bytes."""
    case = {"vllm": version, "config": world[0], "lines": world[1], "decisions": decisions}
    text = json.dumps(case, separators=(",", ":"))
    (RECORDINGS / f"{name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def main() -> int:
    reason = why_not()
    if reason:
        print(reason)
        return 2
    RECORDINGS.mkdir(exist_ok=True)
    with RealScheduler(MORE_ORACLE) as real:
        for name in sys.argv[1:] or CASES:
            world = CASES[name]
            decisions = real.record(*world)
            write(name, world, decisions, version=real.version)
            print(f"{name}: {len(decisions)} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
