"""From command-line options to an experiment."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from kvtui.cli.device import on_device
from kvtui.cli.progress import Progress
from kvtui.cli.slooptions import slo_of
from kvtui.cli.traceoptions import loading
from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_LANES, DEFAULT_MODEL, Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import with_room
from kvtui.errors import ConfigError
from kvtui.hardware.kvtypes import kv_type
from kvtui.hardware.names import gpu_named, model_named
from kvtui.serving.rules import NEWEST
from kvtui.traces import load
from kvtui.traces.workload import Workload

MAX_LANES = 4
DEFAULT_DRAFTER = "draft_model"  # what vLLM takes a drafter for of which it knows nothing else
LONGEST_NAME = 60  # of a trace, characters
DRAWN = ("sample", "burstiness")  # options of a trace that a seed decides


def experiment_of(options: dict[str, Any], workload: Workload | None = None) -> Experiment:
    """The experiment that the options of `kvtui run` describe, with another workload where one is given."""
    workload = workload_of(options) if workload is None else workload
    if not workload.name.isprintable() or len(workload.name) > LONGEST_NAME:
        workload = replace(workload, name=printable(workload.name))
    workload = with_sequences(workload, samples=options["samples"], beams=options["beams"])
    block_size = options["block_size"]
    if block_size < 1:
        raise ConfigError(f"block size must be at least 1 token, not {block_size}", hint="16 is usual")
    blocks = options["blocks"]
    if blocks is not None and blocks < 1:
        raise ConfigError(f"a pool of {blocks} blocks holds nothing", hint="give --blocks at least 1")
    model = model_named(options["model"] or DEFAULT_MODEL)
    kv_dtype = kv_type(options.get("kv_dtype", "auto"))
    default = LaneSpec(
        "", block_size=block_size, backend=options.get("backend", "simulated"), kv_dtype=kv_dtype
    )
    lanes = lanes_of(options["lanes"], default)
    experiment = Experiment(
        workload,
        model,
        gpu_named(options["gpu"] or DEFAULT_GPU),
        lanes,
        max_len=options["max_len"],
        utilization=options["utilization"],
        tp=options["tp"],
        engine=options["engine"],
        price=options["price"],
        max_num_seqs=options["max_num_seqs"],
        max_num_batched_tokens=options["max_num_batched_tokens"],
        chunked_prefill=not options["no_chunked_prefill"],
        policy=options["policy"],
        long_prefill_token_threshold=options["long_prefill_token_threshold"],
        watermark=options["watermark"],
        async_scheduling=options["async_scheduling"],
        **_drafting(options),
        vllm=options["vllm"] or NEWEST,
        slo=slo_of(options),
        until_s=options["until"],
        seed=_seed(options),
    )
    sized = with_given_pool(experiment, options, options["block_size"])
    return on_device(sized, options)


def with_given_pool(experiment: Experiment, options: dict[str, Any], block_size: int = 16) -> Experiment:
    """The pool as it was given: by a log, or in blocks of a paged lane, as large as the model needs."""
    blocks, log = options["blocks"], options["from_log"]
    if log is not None and blocks is not None:
        raise ConfigError("--blocks and --from-log both say how large the pool is", hint="give one of them")
    if log is not None:
        from kvtui.comparison.logged import with_logged_pool

        return with_logged_pool(experiment, log)
    if blocks is None:
        return experiment
    drafts = experiment.num_speculative_tokens if experiment.spec_method else 0
    lane = with_room(
        LaneSpec("paged", block_size=block_size), experiment.model, tp=experiment.tp, drafts=drafts
    )
    return replace(experiment, slots=int(blocks) * lane.block_size)


def _drafting(options: dict[str, Any]) -> dict[str, Any]:
    """Speculative decoding as asked for; what was not said is as `Rules` has it."""
    method, tokens, acceptance = (options[name] for name in ("spec_method", "spec_tokens", "acceptance"))
    drafter = options["spec_model"]
    if method == "ngram" and drafter is not None:
        raise ConfigError(f"--spec-model {drafter}: looking up n-grams needs no model", hint="leave it out")
    if method is None and tokens is None and drafter is None:
        if acceptance is not None:
            raise ConfigError(f"--acceptance {acceptance}: nothing drafts", hint="--spec-tokens 3")
        return {}
    said: dict[str, Any] = {"spec_method": method or DEFAULT_DRAFTER}
    if drafter is not None:
        said["drafter"] = model_named(drafter)
    if tokens is not None:
        said["num_speculative_tokens"] = tokens
    if acceptance is not None:
        said["acceptance"] = _shares(acceptance)
    return said


def _shares(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ConfigError(f"--acceptance {text}: shares from 0 to 1, such as 0.8,0.6,0.4") from None


def lanes_of(texts: tuple[str, ...], default: LaneSpec) -> tuple[LaneSpec, ...]:
    """Lanes as asked for; where a lane does not say something it is as in `default`."""
    if len(texts) > MAX_LANES:
        raise ConfigError(f"{len(texts)} lanes are more than the {MAX_LANES} that fit side by side")
    specs = tuple(LaneSpec.parse(text, default=default) for text in texts)
    return specs or tuple(default._replace(manager=lane.manager) for lane in DEFAULT_LANES)


def workload_of(options: dict[str, Any]) -> Workload:
    """The trace: a bundled name where no such file exists, else a file, a directory or standard input."""
    source, seed = options["trace"], options["seed"]
    wanted = loading(options)
    if not _is_bundled(source):
        if seed is not None and not any(wanted[name] for name in DRAWN):
            from kvtui.traces.synthetic import bundled

            raise ConfigError(
                "--seed draws nothing here: a trace is what it is",
                hint=f"it goes with --sample or --burstiness, or with {', '.join(bundled())}",
            )
        return load(source, **wanted, seed=seed or 0, progress=Progress("reading").bytes)
    from kvtui.traces.synthetic import generate, path_of, recipe

    if seed is None:
        return load(str(path_of(source)), **wanted)
    limit = wanted.pop("limit")
    if any(wanted.values()):
        raise ConfigError("a workload made from a --seed is taken as it is", hint="only --limit goes with it")
    workload = generate(recipe(source), seed=seed)
    return workload if limit is None else workload.head(limit)


def _is_bundled(source: str) -> bool:
    """Whether it is the name of a bundled workload and of no file."""
    if os.path.exists(source):
        return False
    from kvtui.traces.synthetic import bundled

    return source in bundled()


def with_sequences(workload: Workload, *, samples: int | None, beams: int | None) -> Workload:
    """As many sequences for every request, whatever the trace says; None leaves it as it is."""
    if samples is None and beams is None:
        return workload
    import numpy as np

    if samples is not None:
        workload = replace(workload, samples=np.full(len(workload), samples, np.int64))
    if beams is not None:
        workload = replace(workload, beams=np.full(len(workload), beams, np.int64))
    return workload


def source_of(source: str) -> Workload:
    """A whole trace by its bundled name or its path."""
    if _is_bundled(source):
        from kvtui.traces.synthetic import path_of

        return load(str(path_of(source)))
    return load(source, progress=Progress("reading").bytes)


def printable(name: str) -> str:
    """A name out of a file as one line of plain characters: it goes to the terminal."""
    plain = "".join(c for c in name if c.isprintable())
    return plain if len(plain) <= LONGEST_NAME else plain[: LONGEST_NAME - 1] + "…"


def _seed(options: dict[str, Any]) -> int | None:
    if options["seed"] is not None:
        return int(options["seed"])
    if not _is_bundled(options["trace"]):
        return None
    from kvtui.traces.synthetic import recipe

    return recipe(options["trace"]).seed
