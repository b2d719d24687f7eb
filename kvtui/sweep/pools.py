"""Where cells run: processes of this machine, or an existing Dask cluster."""

from __future__ import annotations

import os
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

from kvtui.errors import ConfigError
from kvtui.sweep.runner import Pool
from kvtui.workers import end_with_the_parent


def local(jobs: int | None = None, *, cells: int | None = None) -> list[Pool]:
    """One process a pool, so that a killed one takes only its own cell with it; `cells` at most."""
    count = (
        jobs
        or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ())
        or os.cpu_count()
        or 1
    )
    return [Pool(_process) for _ in range(count if cells is None else min(count, cells))]


def here() -> list[Pool]:
    """A thread of this process: nothing is started, and one cell runs at a time."""
    return [Pool(lambda: ThreadPoolExecutor(1))]


def _process() -> Executor:
    own = get_context("spawn")
    return ProcessPoolExecutor(max_workers=1, mp_context=own, initializer=end_with_the_parent)


def dask(address: str) -> list[Pool]:
    """The workers of a Dask scheduler. Raises ConfigError where none answers or Dask is not installed."""
    try:
        import distributed
    except ImportError:
        raise ConfigError("a Dask cluster needs the extra dist", hint="pip install 'kvtui[dist]'") from None
    try:
        client = distributed.Client(address, timeout=10)
        threads = sum(client.nthreads().values())
    except (OSError, ValueError, TimeoutError) as error:
        raise ConfigError(f"no Dask scheduler answers at {address}: {error}") from None
    if not threads:
        raise ConfigError(f"the Dask scheduler at {address} has no worker", hint=f"dask worker {address}")
    return [Pool(lambda: client.get_executor(pure=False, retries=0), threads, done=client.close)]
