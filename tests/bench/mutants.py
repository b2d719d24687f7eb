"""How many small faults planted in the core the tests notice.

    python -m tests.bench.mutants [--percent 3] [--seed 1] [--only scheduler ...] [--keep FOLDER]

One place of the source is changed at a time (a comparison, a sign, a number, a condition, a call left out),
and the tests of decisions, leaps, memory and contracts that meet the place are asked until one fails, first
the file that noticed a fault of the module last, then the quickest. What nobody noticed is printed: a test is
missing, or the change means nothing. Each module gives its share of the sample. Without ../shared the tests
see less. Of processor time the start takes four minutes (seconds when FOLDER has what was found out then), a
fault that is noticed a third of a second as a rule, one that is not all the tests that meet it.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from math import ceil
from pathlib import Path

from tests.bench.faults import Mutant, mutants
from tests.bench.keeping import kept_witnesses
from tests.bench.witnesses import Court, Witness, court
from tests.packaging.source import modules

CORE = ("kvtui.memory.", "kvtui.serving.", "kvtui.groups.")
SPARED = ("kvtui.memory.protocol", "kvtui.serving.cost", "kvtui.serving.measured")  # seams, and what waits
TESTS = (  # slow ones that see little more are left out
    "tests/golden",
    "tests/contracts/test_managers.py",
    "tests/serving/test_sums.py",
    "tests/serving/test_scenarios.py",
    "tests/serving/test_decisions.py",
    "tests/serving/test_more_decisions.py",
    "tests/vllm",
    "tests/serving/test_calls.py",
    "tests/serving/test_waiting.py",
    "tests/serving/test_plain.py",
    "tests/serving/test_ahead.py",
    "tests/serving/test_leaps.py",
    "tests/memory",
    "tests/serving/test_speculation.py",
    "tests/serving/test_closedloop.py",
    "tests/serving/test_growing.py",
    "tests/serving/test_quiet.py",
    "tests/serving/test_stretch.py",
    "tests/serving/test_meter.py",
    "tests/sharing",
    "tests/frames/test_tally.py",
)


class Judge:
    """Asks the tests about one mutant after another, and remembers which file noticed."""

    def __init__(self, court: Court, tests: list[Witness]) -> None:
        self._court = court
        self._tests = tests
        self._last: dict[tuple[str, str], int] = {}  # when a file last noticed a fault of a module
        self._asked = 0

    def noticed(self, mutant: Mutant) -> str | None:
        """The test that fails with it, or None."""
        self._asked += 1
        asked = [test for test in self._tests if test.meets(mutant)]
        last = {test.file: self._last.get((mutant.module, test.file), 0) for test in asked}
        asked.sort(key=lambda test: (-last[test.file], test.took_s))
        test = self._court.noticed_by(mutant, asked)
        if test:
            self._last[mutant.module, test.partition("::")[0]] = self._asked
        return test


def sample(names: list[str], percent: float, seed: int) -> Iterator[Mutant]:
    """The same share of each module's mutants, at least one."""
    for name in names:
        every = list(mutants(name))
        yield from random.Random(f"{seed} {name}").sample(every, ceil(len(every) * percent / 100))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--percent", type=float, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    core = [name for name in modules() if name.startswith(CORE) and name not in SPARED]
    chosen = [name for name in core if any(part in name for part in asked.only)]
    tests = kept_witnesses(asked.keep, TESTS, core)
    drawn = list(sample(chosen, asked.percent, asked.seed))
    court(TESTS, lambda court: _judge(drawn, Judge(court, tests)))


def _judge(chosen: list[Mutant], judge: Judge) -> None:
    judged, killed = Counter[str](), Counter[str]()
    for number, mutant in enumerate(chosen, 1):
        package = mutant.module.rpartition(".")[0]
        start = time.monotonic()
        test = judge.noticed(mutant)
        judged[package] += 1
        killed[package] += test is not None
        if not test:
            print(f"nobody noticed {mutant.module}:{mutant.line}  {mutant.what}", flush=True)
        took = f"{time.monotonic() - start:.0f} s, {test}"
        sys.stderr.write(f"{number} of {len(chosen)}, {killed.total()} noticed, last after {took}\n")
    for package, many in judged.items():
        print(f"{package}: {killed[package]} of {many} noticed ({100 * killed[package] / many:.1f} %)")


if __name__ == "__main__":
    main()
