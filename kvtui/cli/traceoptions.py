"""The options that say which requests of a trace are replayed, and when: the same wherever one is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

# name on the command line, parameter of kvtui.traces.load
LOADED = {
    "limit": "limit",
    "skip": "skip",
    "start": "start_s",
    "duration": "duration_s",
    "max_gap": "max_gap_s",
    "sample": "sample",
    "scale_rate": "scale_rate",
    "shuffle_seed": "shuffle_seed",
    "rate": "rate",
    "burstiness": "burstiness",
    "turns": "turns",
    "think": "think_s",
    "concurrency": "clients",
    "run_number": "run",
    "time_unit": "time_unit",
    "delta": "delta",
    "tokenizer": "tokenizer",
    "keep_failed": "keep_failed",
    "keep_cached": "keep_cached",
    "trace_block_size": "block_size",
}

OPTIONS = (
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N requests."),
    click.option("--skip", type=click.IntRange(0), default=0, metavar="N", help="Not the first N requests."),
    click.option("--start", type=float, metavar="SECONDS", help="Begin this far into the trace."),
    click.option("--duration", type=float, metavar="SECONDS", help="Replay this much of the trace."),
    click.option("--max-gap", type=float, metavar="SECONDS", help="Cut longer pauses to this."),
    click.option("--sample", type=float, metavar="X", help="A share of the requests, drawn at random."),
    click.option("--scale-rate", type=float, metavar="X", help="Let them arrive X times as fast."),
    click.option("--shuffle-seed", type=int, metavar="N", help="Let the requests trade places."),
    click.option("--rate", type=float, metavar="X", help="X requests a second in place of arrivals."),
    click.option("--burstiness", type=float, metavar="X", help="Of --rate: 1 = Poisson, below 1 burstier."),
    click.option(
        "--turns",
        type=click.Choice(["recorded", "closed"]),
        help="When later turns of a session are sent: as recorded, or when the turn before has ended.",
    ),
    click.option("--think", type=float, metavar="SECONDS", help="From an answer to the next turn (closed)."),
    click.option("--concurrency", type=click.IntRange(1), metavar="N", help="N clients in a closed loop."),
    click.option("--run", "run_number", type=click.IntRange(1), metavar="N", help="Which run of the file."),
    click.option(
        "--time-unit", type=click.Choice(["s", "ms", "us", "ns"]), help="What bare times count, if in doubt."
    ),
    click.option("--delta", is_flag=True, help="Later turns hold only what is new."),
    click.option("--tokenizer", metavar="FILE", help="Count tokens of text with this tokenizer.json."),
    click.option("--keep-failed", is_flag=True, help="Keep rows without an answer as prefill only."),
    click.option("--keep-cached", is_flag=True, help="Keep answers out of a gateway's own cache."),
    click.option(
        "--trace-block-size", type=click.IntRange(1), metavar="N", help="Tokens a prefix hash covers."
    ),
    click.option("--seed", type=int, metavar="N", help="Of what is drawn; makes a bundled workload anew."),
)


def trace_options(command: Command) -> Command:
    """Add them to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def loading(options: dict[str, Any]) -> dict[str, Any]:
    """What `kvtui.traces.load` is to be told."""
    return {parameter: options[name] for name, parameter in LOADED.items()}
