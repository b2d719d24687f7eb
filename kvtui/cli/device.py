"""The options that put lanes on a real device, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.backends.steptable import StepTable
    from kvtui.comparison.experiment import Experiment
    from kvtui.comparison.lane import Lane

Command = TypeVar("Command", bound=Callable[..., Any])

OPTIONS = (
    click.option(
        "--backend",
        type=click.Choice(["simulated", "torch"]),
        default="simulated",
        show_default=True,
        help="torch: real K/V tensors, and the time they take.",
    ),
    click.option("--device", metavar="NAME", help="With torch: auto, cuda, cuda:1, xpu, mps or cpu (auto)."),
    click.option(
        "--kv-layers", type=click.IntRange(1), metavar="N", help="Layers with tensors (CPU 1, else 4)."
    ),
    click.option(
        "--device-share",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="X",
        help="Share of the device's free memory to take (0.25; on a CPU at most 384 MiB).",
    ),
    click.option(
        "--verify",
        type=click.IntRange(1),
        metavar="N",
        help="Check what is read against no cache, every N steps.",
    ),
    click.option(
        "--gemm", is_flag=True, default=None, help="The model's matrix products as well, on dummy weights."
    ),
    click.option("--steptimes", metavar="FILE", help="Write the measured times for kvtui steptime --fit."),
)
NEEDED = ("device", "kv_layers", "device_share", "verify", "gemm", "steptimes")


def device_options(command: Command) -> Command:
    """Add them to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def on_device(experiment: Experiment, options: dict[str, Any]) -> Experiment:
    """The experiment with a device for the lanes that ask for one. Imports torch only then."""
    from kvtui.errors import ConfigError

    if not any(spec.measured for spec in experiment.lanes):
        for name in NEEDED:
            if options.get(name) is not None:
                flag = f"--{name.replace('_', '-')}"
                raise ConfigError(f"{flag} is for real tensors", hint="add --backend torch")
        return experiment
    from kvtui.backends.torch_backend import Settings, TorchBackend

    settings = Settings(
        device=options["device"] or "auto",
        kv_layers=options["kv_layers"],
        share=options["device_share"],
        verify=options["verify"] or 0,
        gemm=bool(options["gemm"]),
    )
    backend = TorchBackend(experiment.model, settings, tp=experiment.tp, table=_table(options))
    for note in backend.notes:  # before anything is measured
        click.echo(f"kvtui: {note}", err=True)
    return backend.fit(experiment, asked=experiment.slots is not None)


def _table(options: dict[str, Any]) -> StepTable | None:
    if options["steptimes"] is None:
        return None
    from kvtui.backends.steptable import StepTable

    return StepTable(options["steptimes"])


def finish(experiment: Experiment) -> None:
    """After the run: write the table that was asked for, and say so."""
    if experiment.backend is None:
        return
    from kvtui.backends.torch_backend import TorchBackend

    backend = experiment.backend
    assert isinstance(backend, TorchBackend)
    backend.close()
    if backend.table is not None:
        rows = backend.table.write()
        click.echo(f"kvtui: {rows:,} step times written to {backend.table.path}", err=True)


def outcome(lanes: Sequence[Lane]) -> int:
    """Exit code of a headless run by what the device said: 2 where it gave up, 1 where something was read
    wrong, which only a bug of kvtui can do."""
    code = 0
    for lane in lanes:
        verify = lane.times.report().get("verify") if lane.times is not None else None
        if verify and verify["failed"]:
            click.echo(f"kvtui: {lane.info.name}: {verify['first_failure']}", err=True)
            code = 1
    return 2 if any(lane.times is not None and lane.times.failure for lane in lanes) else code
