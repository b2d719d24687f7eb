"""`kvtui demo`: the best this machine can show, in a loop."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.comparison.experiment import Experiment
    from kvtui.traces.workload import Workload

WORKLOAD = "chat"
HEADLESS_S = 20.0  # of a run without a terminal, where time is real
# Virtual seconds a second.
SIMULATED_SPEED, CPU_SPEED = 4.0, 1.0
GPU_SPEED = 0.5  # is quicker than the eye otherwise


@click.command(short_help="What this machine can, real tensors where PyTorch is.")
@click.option(
    "--backend",
    type=click.Choice(["auto", "torch", "simulated"]),
    default="auto",
    show_default=True,
    help="auto: a GPU if there is one, else tensors on the CPU, else the simulation.",
)
@click.option("--device", default="auto", show_default=True, metavar="NAME", help="cuda, xpu, mps or cpu.")
@click.option(
    "--minutes", default=5.0, show_default=True, type=Positive(most=1440), help="Length of the loop."
)
@click.option("--once", is_flag=True, help="Leave after one loop.")
@click.option(
    "--theme", default="dark", show_default=True, type=click.Choice(["dark", "light", "high-contrast"])
)
@click.option("--ascii", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
def demo(
    backend: str, device: str, minutes: float, once: bool, theme: str, ascii: bool, no_mouse: bool
) -> int:
    """Show what this machine can: real tensors where PyTorch is, sized so that it stays lively.

    The bundled chat workload, played, summed up and played again; q leaves.

    \b
    kvtui demo
    kvtui demo --backend simulated --once
    """
    from kvtui.tui.terminal import keys_from_the_terminal, terminal_problem

    experiment = experiment_for(backend, device)
    click.echo(f"kvtui: {_what(experiment)}", err=True)
    keys_from_the_terminal()
    problem = terminal_problem()
    if problem:
        return _summary(experiment, problem)
    from kvtui.cli.device import finish
    from kvtui.tui.demo import run

    code = run(
        experiment,
        otherwise=lambda: _experiment("simulated"),
        speed=_speed(experiment),
        loop_s=60 * minutes,
        once=once,
        theme=theme,
        ascii=ascii,
        mouse=not no_mouse,
    )
    finish(experiment)
    return code


def experiment_for(backend: str, device: str) -> Experiment:
    """The demonstration on the best that is there."""
    from kvtui.errors import BackendError

    if backend != "simulated":
        try:
            return _measured(device)
        except BackendError as error:
            if backend == "torch":
                raise
            click.echo(f"kvtui: {error.message}: simulated instead", err=True)
    return _experiment("simulated")


def _speed(experiment: Experiment) -> float:
    if experiment.backend is None:
        return SIMULATED_SPEED
    return CPU_SPEED if experiment.backend.device_label == "CPU" else GPU_SPEED


def _measured(device: str) -> Experiment:
    """With pools that this device reads fast enough to be watched."""
    from kvtui.backends.torch_backend import Settings, TorchBackend
    from kvtui.backends.torch_device import Device

    Device(device)  # whether there is one, before anything is read
    experiment = _experiment("torch")
    backend = TorchBackend(experiment.model, Settings(device=device))
    return backend.fit(experiment, asked=False, lively=True)


def _experiment(backend: str) -> Experiment:
    from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
    from kvtui.comparison.lanes import LaneSpec
    from kvtui.hardware import catalogue
    from kvtui.traces import load
    from kvtui.traces.synthetic import path_of, recipe

    workload = load(str(path_of(WORKLOAD)))
    if backend != "simulated":  # attention alone is so quick that nobody would ever wait
        workload = at_once(workload)
    return Experiment(
        workload,
        catalogue.model(DEFAULT_MODEL),
        catalogue.gpu(DEFAULT_GPU),
        (LaneSpec("contiguous", backend=backend), LaneSpec("paged", backend=backend)),
        seed=recipe(WORKLOAD).seed,
    )


def at_once(workload: Workload) -> Workload:
    """The same requests, all of them there from the start."""
    import numpy as np

    assumed = (*workload.assumed, "all requests arrive at once")
    return replace(workload, arrival_ns=np.zeros_like(workload.arrival_ns), timed=False, assumed=assumed)


def _what(experiment: Experiment) -> str:
    if experiment.backend is None:
        return f"the {WORKLOAD} workload on a simulated {experiment.gpu_label}"
    slots = experiment.pool_slots(experiment.lanes[0])
    return f"the {WORKLOAD} workload on {experiment.gpu_label}, {slots:,} slots of real K/V in each lane"


def _summary(experiment: Experiment, problem: str) -> int:
    """Without a terminal: some of the run as a table."""
    from kvtui.cli.run import NO_TERMINAL, headless

    print(f"kvtui: {NO_TERMINAL.format(problem)}", file=sys.stderr)
    if experiment.backend is not None:
        experiment = replace(experiment, until_s=HEADLESS_S)
    return headless(experiment, None, as_json=False)
