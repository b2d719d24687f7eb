"""Leaps and rounds against single steps on many random worlds.

    python -m tests.serving.leap_campaign [--seeds 0:5000] [--lane NAME ...]

Prints for every kind of lane how many worlds it ran, how many steps they took and in how many calls, and the
seeds of worlds where single steps, a random number of steps a call and as many as possible differ, or rounds:
to the end in one call, and by turns with leaps and single steps.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from kvtui.serving.engine import UNLIMITED, Engine
from tests.serving.digest import digest
from tests.serving.test_ahead import AHEAD, IN_STEP, watched
from tests.serving.test_leaps import LEAPING, STEPPING, differ
from tests.serving.test_plain import at_once, in_turns, plain, tight

LANES = tuple(dict.fromkeys((*LEAPING, *STEPPING, plain, tight, *IN_STEP, *AHEAD)))


def rounds_differ(build: Callable[[int], Engine], seed: int) -> bool:
    """Whether they leave something else than steps that somebody watches."""
    steps = watched(build(seed))
    return digest(at_once(build(seed))) != steps or digest(in_turns(build(seed), seed)) != steps


def steps_and_calls(build: Callable[[int], Engine], seed: int) -> tuple[int, int]:
    """Of a run with as many steps a call as possible."""
    engine, calls = build(seed), 1
    while engine.step(UNLIMITED):
        calls += 1
    return engine.scheduler.step, calls


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="0:5000", metavar="FIRST:END")
    parser.add_argument("--lane", action="append", choices=[build.__name__ for build in LANES])
    chosen = parser.parse_args()
    seeds = range(*map(int, chosen.seeds.split(":")))
    failed = False
    for build in LANES:
        if chosen.lane and build.__name__ not in chosen.lane:
            continue
        wrong = [seed for seed in seeds if differ(build, seed) or rounds_differ(build, seed)]
        failed |= bool(wrong)
        steps, calls = map(sum, zip(*(steps_and_calls(build, seed) for seed in seeds), strict=True))
        print(
            f"{build.__name__}: {len(seeds)} worlds, {steps} steps in {calls} calls, differ: {wrong}",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
