"""The options that say what requests are to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.frames.slo import Slo

_OPTIONS = (
    click.option(
        "--slo-ttft", "ttft_s", type=Positive(), metavar="S", help="TTFT: first token within S seconds."
    ),
    click.option(
        "--slo-tpot", "tpot_s", type=Positive(), metavar="S", help="TPOT: each further token within S."
    ),
    click.option(
        "--slo-e2e", "e2e_s", type=Positive(), metavar="S", help="E2E: whole request within S seconds."
    ),
)


def slo_options(command: Any) -> Any:
    """Adds them to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def limits(options: dict[str, Any]) -> dict[str, float]:
    """The limits that were set."""
    return {name: options[name] for name in ("ttft_s", "tpot_s", "e2e_s") if options.get(name)}


def slo_of(options: dict[str, Any]) -> Slo:
    from kvtui.frames.slo import Slo

    return Slo(**limits(options))
