"""The Python interface: load a trace, put lanes side by side, run or step them, read frames and figures;
sweep many settings.

`kvtui` gives these names itself; what is not documented there may change.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from kvtui.answers.report import summary
from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_LANES, DEFAULT_MODEL, Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.logged import with_logged_pool
from kvtui.errors import ConfigError
from kvtui.frames.slo import Slo
from kvtui.hardware.catalogue import nearest
from kvtui.hardware.names import gpu_named, model_named
from kvtui.traces import Wanted
from kvtui.traces import load as load_trace
from kvtui.traces.synthetic import bundled, path_of
from kvtui.traces.workload import Workload


def load(trace: str | Path, **wanted: Unpack[Wanted]) -> Workload:
    """The requests of a trace file, a folder of traces, or a bundled workload (where no such file exists).

    `wanted`: `limit=1000`, `start_s=60.0`, `scale_rate=2.0` and whatever else `kvtui.traces.Wanted` names.
    Raises KvtuiError for what cannot be read.
    """
    name = str(trace)
    is_bundled = name in bundled() and not Path(name).exists()
    return load_trace(str(path_of(name)) if is_bundled else name, **wanted)


def side_by_side(
    trace: Workload | str | Path,
    lanes: Sequence[str] = (),
    *,
    model: str = DEFAULT_MODEL,
    gpu: str = DEFAULT_GPU,
    block_size: int = 16,
    from_log: str | Path | None = None,
    **settings: Any,
) -> Experiment:
    """All `lanes` (written as for --lane; by default contiguous and paged) on one trace.

    `settings` are fields of `Experiment`: `slots` of the pool, `max_len`, `max_num_seqs`, `utilization`,
    `tp`, `vllm`, ...; `from_log` is a server's log that says how large the pool is. `.build()` gives the
    lanes, each with `step()`, `frame()` and `done`. Raises KvtuiError for what does not go together.
    """
    workload = trace if isinstance(trace, Workload) else load(trace)
    default = LaneSpec("", block_size=block_size)
    texts = lanes or [lane.manager for lane in DEFAULT_LANES]
    specs = tuple(LaneSpec.parse(text, default=default) for text in texts)
    experiment = Experiment(workload, model_named(model), gpu_named(gpu), specs, **settings)
    return experiment if from_log is None else with_logged_pool(experiment, from_log)


def run(experiment: Experiment) -> dict[str, Any]:
    """Every lane to its end; gives the same figures as `kvtui TRACE --headless --json`."""
    lanes = experiment.build(watched=False)
    for lane in lanes:
        lane.run()
    return summary(experiment, lanes)


def run_sweep(
    trace: str | Path,
    *,
    limit: int | None = None,
    ttft_s: float | None = None,
    tpot_s: float | None = None,
    e2e_s: float | None = None,
    jobs: int = 1,
    **axes: Any,
) -> dict[str, Any]:
    """The trace, or its first `limit` requests, under every combination of settings; gives what
    `kvtui sweep TRACE --json` prints.

    `axes` are values by the names of the command's options: `gpu=["l40s", "h100-sxm"]`, `max_num_seqs=256`,
    `block_size=[16, 32]`, `kv_dtype=["auto", "fp8"]`, ...; `ttft_s`, `tpot_s` and `e2e_s` are what 99 % of
    the requests are to keep, in seconds. More `jobs` than one are processes, for which a script needs
    `if __name__ == "__main__":`. Raises KvtuiError for what cannot be simulated.
    """
    from kvtui.sweep import advice
    from kvtui.sweep.grid import AXES, cells_of, listed
    from kvtui.sweep.ledger import Ledger
    from kvtui.sweep.pools import here, local
    from kvtui.sweep.runner import Runner

    if unknown := next((name for name in axes if name not in AXES), None):
        raise ConfigError(f"a sweep has no axis {unknown}", hint=nearest(unknown, AXES))
    named = {name: listed(name, value) for name, value in axes.items()}
    slo = Slo(ttft_s=ttft_s, tpot_s=tpot_s, e2e_s=e2e_s)
    cells = cells_of(str(trace), named, sha256=load(trace).sha256, slo=slo, limit=limit)
    ledger = Ledger()
    Runner(here() if jobs == 1 else local(jobs, cells=len(cells)), ledger).run(cells)
    return advice.report(advice.answer([(cell, ledger.results[cell.key]) for cell in cells]))
