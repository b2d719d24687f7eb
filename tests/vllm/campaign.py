"""A fuzz campaign against the real vLLM scheduler.

    KVTUI_VLLM_PYTHON=.../bin/python python -m tests.vllm.campaign --seeds 0:3000
    ... --async                worlds with asynchronous scheduling
    ... --kind spec            worlds with speculative decoding; window: with windows and hybrids; both: both
    ... --vllm 0.24            kvtui's rules of a release (KVTUI_VLLM_CODE: that release's code)
    ... --reference            check the plain simulators in place of kvtui
    ... --shared               the six shared cases in place of random worlds
    ... --keep                 keep digests of what vLLM decided (see `recorded.py`)

Every step is compared at level `all`. Differing worlds are printed minimised; the exit status tells.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator

from kvtui.decisions.recorded import decide, read_case
from kvtui.serving.rules import NEWEST
from tests.serving.worlds import World
from tests.shared import SHARED
from tests.vllm.compare import Decisions, difference, smallest
from tests.vllm.figures import Figures
from tests.vllm.real import MORE_ORACLE, ORACLE, RealScheduler, Recording, Refused, why_not
from tests.vllm.recorded import KINDS, REFUSED, Store, digest, kind_name, world_of
from tests.vllm.simulator import simulated, within_reach

Candidate = Callable[[World], Decisions]


def candidate(release: str, *, reference: bool) -> Candidate:
    """What is compared with the real scheduler."""
    if reference:
        return lambda world: simulated(world, release)
    return lambda world: decide(*world, vllm=release)


def compare(recorded: Recording | Refused, ours: Candidate, world: World) -> str | None:
    """The first difference in one world, or None. What vLLM refuses does not differ."""
    if isinstance(recorded, Refused):
        return None
    try:
        return difference(recorded, ours(world))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def recording(real: RealScheduler, world: World) -> Recording | Refused:
    """What vLLM decides, or why it does not."""
    try:
        return real.record(*world)
    except Refused as refusal:
        return refusal


def shared_cases() -> Iterator[tuple[str, World]]:
    """The recorded examples."""
    for path in sorted((SHARED / "vllm-decisions").glob("*/config.json")):
        config, lines = read_case(path, path.with_name("trace.jsonl"))
        yield path.parent.name, ({"max_steps": 200_000} | config, lines)


def random_worlds(seeds: str, kind: str) -> Iterator[tuple[int, World]]:
    """The worlds of FIRST:LAST."""
    first, _, last = seeds.partition(":")
    return ((seed, world_of(kind, seed)) for seed in range(int(first), int(last)))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.vllm.campaign")
    parser.add_argument("--seeds", default="0:100", metavar="FIRST:LAST")
    parser.add_argument("--async", dest="asynchronous", action="store_true")
    parser.add_argument("--kind", choices=KINDS, default="plain", help="all but plain need 0.32 or later")
    parser.add_argument("--vllm", default=NEWEST, metavar="RELEASE")
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--most", type=int, default=5, help="differences after which to stop")
    return parser.parse_args()


class Campaign:
    """One run of worlds of a kind through the real scheduler and ours."""

    def __init__(self, chosen: argparse.Namespace, real: RealScheduler) -> None:
        self.chosen = chosen
        self.real = real
        self.kind = kind_name(chosen.kind, asynchronous=chosen.asynchronous)
        self.ours = candidate(chosen.vllm, reference=chosen.reference)
        self.figures = Figures()
        self.different = 0
        self._store = Store(chosen.vllm)

    def run(self) -> None:
        """Compare world by world, until too many differ."""
        cases = shared_cases() if self.chosen.shared else random_worlds(self.chosen.seeds, self.kind)
        for name, case in cases:
            if self.chosen.reference:
                case = within_reach(case, self.chosen.vllm)
            recorded = recording(self.real, case)
            self._count(name, case, recorded)
            text = compare(recorded, self.ours, case)
            if text is not None:
                self._tell(name, case, text)
            if self.different >= self.chosen.most:
                break
        if self.chosen.keep and not self.different:
            self._store.write(self.real.version)

    def _count(self, name: int | str, case: World, recorded: Recording | Refused) -> None:
        if isinstance(recorded, Refused):
            print(f"REFUSED {name}: {recorded}", flush=True)
            found = REFUSED
        else:
            self.figures.add(case, recorded)
            found = digest(recorded)
        if isinstance(name, int):
            self._store.keep(self.kind, name, found)
        else:
            self._store.keep_shared(name, found)

    def _tell(self, name: int | str, case: World, text: str) -> None:
        self.different += 1

        def differs(world: World) -> bool:
            return compare(recording(self.real, world), self.ours, world) is not None

        small = smallest(case, differs)
        print(f"DIFFERENT {name} {text}\n  minimised: {json.dumps(small)}")
        print(f"  there: {compare(recording(self.real, small), self.ours, small)}", flush=True)


def main() -> int:
    chosen = options()
    reason = why_not()
    if reason:
        print(reason)
        return 2
    start = time.perf_counter()
    with RealScheduler(ORACLE if chosen.kind == "plain" else MORE_ORACLE) as real:
        print(f"vLLM {real.version}, rules of {chosen.vllm}", flush=True)
        campaign = Campaign(chosen, real)
        campaign.run()
    print(campaign.figures.table())
    seconds = time.perf_counter() - start
    print(f"\n{campaign.figures.worlds} worlds, {campaign.different} different, {seconds:.0f} s")
    return 1 if campaign.different else 0


if __name__ == "__main__":
    sys.exit(main())
