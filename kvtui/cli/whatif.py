"""`kvtui attach --lane`: simulated lanes beside servers, from the options of `kvtui run`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli.run import run

if TYPE_CHECKING:
    from kvtui.comparison.experiment import Experiment
    from kvtui.live.demo import DemoPages
    from kvtui.live.poll import Poller
    from kvtui.live.reading import Reading
    from kvtui.live.whatif.beside import WhatIf
    from kvtui.traces.workload import Workload

# Options of `kvtui run` that say what a lane is.
_OF_LANES = (
    *("model", "gpu", "tp", "engine", "blocks", "kv_dtype", "block_size", "max_len", "max_num_seqs"),
    *("max_num_batched_tokens", "vllm"),
)
OPTIONS = tuple(param for param in run.params if param.name in _OF_LANES)


def asked(options: dict[str, Any]) -> bool:
    """Whether lanes are to be simulated beside the servers; complains where that cannot be."""
    if not (options["lanes"] or options["requests"]):
        return False
    if options["demo"] and options["requests"]:
        raise click.UsageError("--demo knows its requests itself: --requests goes with a URL")
    if not (options["demo"] or options["requests"]):
        raise click.UsageError(
            "--lane needs the requests that the server gets: send them through "
            "'kvtui record --upstream URL -o trace.jsonl' and add --requests trace.jsonl"
        )
    if options["record"] is not None:
        raise click.UsageError(
            "--record keeps what servers publish: record without lanes, and 'kvtui check' sets them beside it"
        )
    return True


def beside(poller: Poller, options: dict[str, Any], demo: DemoPages | None) -> WhatIf:
    """The lanes asked for, with as much memory as the first server has, if it says so."""
    from kvtui.live.whatif.beside import WhatIf
    from kvtui.live.whatif.tail import Requests, Tail

    requests: Requests = Tail(options["requests"]) if demo is None else demo.requests()
    given = options["blocks"] is not None  # else it is the server's
    return WhatIf(
        requests,
        lambda workload: _experiment(workload, poller, options),
        pool=lambda: None if given else poller.last.reading.pool_tokens.value,
    )


def _experiment(workload: Workload, poller: Poller, options: dict[str, Any]) -> Experiment:
    from kvtui.cli.build import MAX_LANES, experiment_of
    from kvtui.errors import ConfigError

    reading = poller.last.reading
    given = {**_defaults(), **{name: options[name] for name in (*_OF_LANES, "lanes")}}
    given["model"] = options["model"] or _known_model(reading.model)
    given["max_len"] = options["max_len"] or _longest(given["model"], reading)
    experiment = experiment_of(given, workload)
    if len(options["urls"]) + len(experiment.lanes) > MAX_LANES:
        raise ConfigError(f"servers and lanes are more than the {MAX_LANES} that fit side by side")
    if any(spec.measured or spec.manager == "vllm-sosp" for spec in experiment.lanes):
        raise ConfigError("beside a server lanes are simulated, and not by vllm-sosp", hint="--lane paged")
    if experiment.slots is None and reading.pool_tokens.value:
        pool = int(reading.pool_tokens.value)
        experiment = replace(experiment, slots=pool, pool_from=f"what {poller.name} says")
    return experiment


def _defaults() -> dict[str, Any]:
    """Of all options of `kvtui run`."""
    context = run.make_context("run", [], resilient_parsing=False)
    return dict(context.params)


def _known_model(name: str | None) -> str | None:
    """The server's model, where the catalogue has it."""
    from kvtui.errors import ConfigError
    from kvtui.hardware.names import model_named

    try:
        return model_named(name).id if name else None
    except ConfigError:
        return None


def _longest(model: str | None, reading: Reading) -> int:
    """The maximum length: what the server takes, as far as the model reads it and the memory holds it."""
    from kvtui.comparison.experiment import DEFAULT_MODEL
    from kvtui.hardware.names import model_named

    most = model_named(model or DEFAULT_MODEL).max_positions
    return min(reading.max_len or most, int(reading.pool_tokens.value or most), most)
