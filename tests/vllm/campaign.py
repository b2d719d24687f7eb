"""A fuzz campaign against the real vLLM scheduler.

    KVTUI_VLLM_PYTHON=.../bin/python python -m tests.vllm.campaign --seeds 0:3000
    ... --async                worlds with asynchronous scheduling
    ... --kind spec            worlds with speculative decoding; window: with windows and hybrids; both: both
    ... --vllm 0.24            kvtui's rules of a release (KVTUI_VLLM_CODE: that release's code)
    ... --reference            check the plain simulators in place of kvtui
    ... --shared               the six shared cases in place of random worlds

Every step is compared at level `all`. Differing worlds are printed minimised; the exit status tells.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from kvtui.decisions import decide, read_case
from kvtui.rules import NEWEST
from tests.engine.worlds import World
from tests.shared import SHARED
from tests.vllm.compare import Decisions, difference, smallest
from tests.vllm.figures import Figures
from tests.vllm.more_worlds import KINDS, more_world
from tests.vllm.real import MORE_ORACLE, ORACLE, RealScheduler, Refused, why_not
from tests.vllm.simulator import reference_simulator
from tests.vllm.worlds import world

Candidate = Callable[[dict[str, Any], list[dict[str, Any]]], Decisions]
FULL_NAME = {"0.20": "0.20.2"}


def candidate(*, release: str, reference: bool, kind: str | None) -> Candidate:
    """What is compared with the real scheduler."""
    if not reference:
        return lambda config, lines: decide(config, lines, vllm=release)
    if kind or release == "0.33":
        from tests.vllm.plain.simulator import Sim

        return lambda config, lines: Sim(config, lines, newer=release == "0.33").run()
    simulator = reference_simulator()
    like = FULL_NAME.get(release, f"{release}.0")
    return lambda config, lines: simulator.Sim(config, lines, like).run()


def compare(real: RealScheduler, ours: Candidate, world: World, figures: Figures | None) -> str | None:
    """The first difference in one world, or None. What vLLM refuses does not differ."""
    try:
        recorded = real.record(*world)
    except Refused as refusal:
        return f"vLLM refuses the world: {refusal}" if figures is not None else None
    if figures is not None:
        figures.add(world, recorded)
    try:
        return difference(recorded, ours(*world))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def shared_cases() -> Iterator[tuple[str, World]]:
    """The recorded examples."""
    for path in sorted((SHARED / "vllm-decisions").glob("*/config.json")):
        config, lines = read_case(path, path.with_name("trace.jsonl"))
        yield path.parent.name, ({"max_steps": 200_000} | config, lines)


def random_worlds(seeds: str, *, kind: str | None, asynchronous: bool) -> Iterator[tuple[str, World]]:
    """The worlds of FIRST:LAST."""
    first, _, last = seeds.partition(":")
    for seed in range(int(first), int(last)):
        made = (
            more_world(seed, kind, asynchronous=asynchronous)
            if kind
            else world(seed, asynchronous=asynchronous)
        )
        yield f"seed {seed}", made


def keep_to_reference(config: dict[str, Any]) -> None:
    """Take out what the simulators do not do: writing the free queue, a token budget above the batch's."""
    config.pop("record_free_queue", None)
    if config.get("max_num_scheduled_tokens"):
        most = config["max_num_batched_tokens"]
        config["max_num_scheduled_tokens"] = min(config["max_num_scheduled_tokens"], most)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.vllm.campaign")
    parser.add_argument("--seeds", default="0:100", metavar="FIRST:LAST")
    parser.add_argument("--async", dest="asynchronous", action="store_true")
    parser.add_argument("--kind", choices=KINDS, help="drafts, windows or both (needs 0.32)")
    parser.add_argument("--vllm", default=NEWEST, metavar="RELEASE")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--most", type=int, default=5, help="differences after which to stop")
    return parser.parse_args()


def main() -> int:
    chosen = options()
    reason = why_not()
    if reason:
        print(reason)
        return 2
    ours = candidate(release=chosen.vllm, reference=chosen.reference, kind=chosen.kind)
    figures = Figures()
    different = 0
    start = time.perf_counter()
    with RealScheduler(MORE_ORACLE if chosen.kind else ORACLE) as real:
        print(f"vLLM {real.version}, rules of {chosen.vllm}", flush=True)
        cases = (
            shared_cases()
            if chosen.shared
            else random_worlds(chosen.seeds, kind=chosen.kind, asynchronous=chosen.asynchronous)
        )
        for name, case in cases:
            if chosen.reference:
                keep_to_reference(case[0])
            text = compare(real, ours, case, figures)
            if text is None:
                continue
            different += 1
            if text.startswith("ConfigError"):  # not modelled: nothing to look closer at
                print(f"DIFFERENT {name} {text}", flush=True)
                break
            small = smallest(case, lambda w: compare(real, ours, w, None) is not None)
            print(f"DIFFERENT {name} {text}\n  minimised: {json.dumps(small)}")
            print(f"  there: {compare(real, ours, small, None)}", flush=True)
            if different >= chosen.most:
                break
    print(figures.table())
    print(f"\n{figures.worlds} worlds, {different} different, {time.perf_counter() - start:.0f} s")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
