"""`kvtui tour`: what paged memory does, scene by scene, and then the default screen."""

from __future__ import annotations

from typing import Any

import click

from kvtui.cli.lookoptions import look_options, looking
from kvtui.errors import ConfigError


@click.command(short_help="What paged KV-cache memory does, scene by scene.")
@look_options
def tour(**options: Any) -> int:
    """Show what paged KV-cache memory does, scene by scene; each is a real run, stopped where it matters.

    \b
    kvtui tour
    kvtui tour --language ja
    """
    from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
    from kvtui.hardware import catalogue
    from kvtui.traces import load
    from kvtui.traces.synthetic import path_of, recipe
    from kvtui.tui import run
    from kvtui.tui.terminal import terminal_problem

    problem = terminal_problem()
    if problem:
        raise ConfigError(
            f"the tour needs a full screen: {problem}", hint="kvtui --plain tells a run in lines"
        )
    workload, seed = load(str(path_of("chat"))), recipe("chat").seed
    model, gpu = catalogue.model(DEFAULT_MODEL), catalogue.gpu(DEFAULT_GPU)
    return run(Experiment(workload, model, gpu, seed=seed), tour=True, **looking(options))
