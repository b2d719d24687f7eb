"""The KV pool as a server's log tells it, for the lanes of an experiment."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.layers import slot_bytes, tables_of
from kvtui.errors import ConfigError
from kvtui.hardware import serverlog


def with_logged_pool(experiment: Experiment, path: str | Path) -> Experiment:
    """The experiment with the pool that this log says its server has, which stores KV as the last lane does.

    Raises ConfigError for a log that does not say it, for a pool that is too large to simulate, and where
    its size is given already.
    """
    if experiment.slots is not None:
        raise ConfigError("the size of the pool is given, and a log says it too", hint="give one of them")
    lane, model, tp = experiment.lanes[-1], experiment.model, experiment.tp
    each, plain = (slot_bytes(model, kind, tp=tp) for kind in (lane.kv_dtype, "auto"))
    log = serverlog.read(str(path))
    size = log.block_size or lane.block_size
    tables = tables_of(model, tp)
    blocks = log.usable_blocks(block_size=size, block_bytes=size * each, tables=tables)
    slots = -(-blocks * size * each // plain)  # of 16 bits
    return replace(experiment, slots=slots, pool_from=f"the log {Path(path).name}")
