"""All figures by name, and running them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import nearest
from kvtui.reproduce import batches, caches, rates, shared, sizes, stalls, swapping, translation
from kvtui.reproduce.entry import Entry
from kvtui.reproduce.settings import Settings
from kvtui.workers import end_with_the_parent

Figure = Callable[[Settings], list[Entry]]

FIGURES: dict[str, Figure] = {
    "pagedattention.fig2": batches.fig2,
    "pagedattention.forms": batches.forms,
    "pagedattention.table1": sizes.table1,
    "pagedattention.fig12a": rates.fig12a,
    "pagedattention.fig12d": rates.fig12d,
    "pagedattention.fig13a": batches.fig13a,
    "pagedattention.fig13b": batches.fig13b,
    "pagedattention.fig15": shared.fig15,
    "pagedattention.text63": shared.sharegpt,
    "pagedattention.fig16": translation.fig16,
    "pagedattention.fig17": rates.fig17,
    "pagedattention.fig18a": batches.kernel,
    "pagedattention.fig18b": batches.fig18b,
    "pagedattention.fig19": swapping.fig19,
    "vattention": sizes.page_groups,
    "sarathi": stalls.sarathi,
    "mooncake": caches.mooncake,
    "radixattention": caches.radix,
    "vllm.fp8": sizes.fp8,
    "vllm.mla": sizes.mla,
}
# 3 to 13 s of a core each.
DEAREST = ("fig13a", "sarathi", "text63", "fig15", "fig13b", "fig12a", "fig12d", "fig16", "fig2")
WORKERS = 2


def chosen(name: str | None) -> list[str]:
    """Names of the figures meant: all, one by its full or last name, or all of one paper."""
    if name is None:
        return list(FIGURES)
    found = [full for full in FIGURES if name in (full, full.rpartition(".")[2], full.partition(".")[0])]
    if not found:
        known = [*FIGURES, *(full.rpartition(".")[2] for full in FIGURES)]
        raise ConfigError(f"there is no figure {name!r}", hint=nearest(name, known))
    return found


def run(
    names: Sequence[str], settings: Settings, *, as_done: bool = False
) -> Iterator[tuple[str, list[Entry]]]:
    """The entries of each figure; several figures at a time where there are cores. In the order asked for, or
    each as soon as it is done."""
    workers = min(WORKERS, os.cpu_count() or 1, len(names))
    if workers < 2:
        for name in names:
            yield name, FIGURES[name](settings)
        return
    with ProcessPoolExecutor(workers, initializer=end_with_the_parent) as pool:
        jobs = {pool.submit(FIGURES[name], settings): name for name in sorted(names, key=_rank)}
        order = as_completed(jobs) if as_done else sorted(jobs, key=lambda job: names.index(jobs[job]))
        for job in order:
            yield jobs[job], job.result()


def _rank(name: str) -> int:
    """When a figure is started: first those that are there at once, then the dearest."""
    short = name.rpartition(".")[2]
    return 1 + DEAREST.index(short) if short in DEAREST else 0
