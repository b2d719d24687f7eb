"""`kvtui attach`: watch real servers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.live.poll import Poller

PLAIN_S = 2.0  # between two lines


@click.command()
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--plain", is_flag=True, help="No screen: a line a server every interval.")
@click.option("--once", is_flag=True, help="Look once and end.")
@click.option("--json", "as_json", is_flag=True, help="With --once or --plain: JSON, null where unknown.")
@click.option("--interval", type=Positive(most=3600), metavar="SECONDS", help="Between two looks.")
@click.option("--timeout", default=2.0, show_default=True, type=Positive(most=600), help="For an answer.")
@click.option("--slots", type=click.Choice(["split", "unified"]), help="How llama.cpp was told to keep them.")
def attach(urls: tuple[str, ...], **options: Any) -> int:
    """Watch servers through what they publish: vLLM, SGLang, llama.cpp, TensorRT-LLM, TGI, Ollama.

    A bearer token is taken from the environment variable KVTUI_TOKEN. Nothing is changed on a server.

    \b
    kvtui attach http://localhost:8000 --plain
    kvtui attach localhost:8000 localhost:30000 --once --json
    """
    if options["as_json"] and not (options["once"] or options["plain"]):
        raise click.UsageError("--json goes with --once or --plain")
    pollers = _attached(urls, options)
    if options["once"]:
        _show(pollers, as_json=options["as_json"], pretty=True)
        return 0
    return _plain(pollers, as_json=options["as_json"])


def _attached(urls: Sequence[str], options: dict[str, Any]) -> list[Poller]:
    from kvtui.cli.build import MAX_LANES
    from kvtui.errors import ConfigError
    from kvtui.live.poll import attach as attached

    if len(urls) > MAX_LANES:
        raise ConfigError(f"{len(urls)} servers are more than the {MAX_LANES} that fit side by side")
    split = None if options["slots"] is None else options["slots"] == "split"
    interval, timeout = options["interval"] or PLAIN_S, options["timeout"]
    return [attached(url, interval_s=interval, timeout_s=timeout, split=split) for url in urls]


def _plain(pollers: list[Poller], *, as_json: bool) -> int:
    from concurrent.futures import ThreadPoolExecutor

    from kvtui.live.poll import look_at_all

    told = [0] * len(pollers)  # marks already shown
    with ThreadPoolExecutor(len(pollers)) as pool:
        while True:
            if not as_json:
                told = _marks(pollers, told)
            _show(pollers, as_json=as_json, pretty=False)
            time.sleep(min(poller.interval_s for poller in pollers))
            look_at_all(pollers, pool)


def _show(pollers: list[Poller], *, as_json: bool, pretty: bool) -> None:
    from kvtui.live.report import line, summary

    snapshots = [poller.last for poller in pollers]
    if as_json:
        print(json.dumps(summary(snapshots), indent=2 if pretty else None), flush=True)
        return
    clock = time.strftime("%H:%M:%S")
    for snapshot in snapshots:
        reading = snapshot.reading
        who = " ".join(part for part in (snapshot.name, reading.kind, reading.version, reading.model) if part)
        print(f"{clock}  {who}  {line(snapshot)}", flush=True)


def _marks(pollers: list[Poller], told: list[int]) -> list[int]:
    """What happened to the servers, once each, on standard error."""
    for poller, seen in zip(pollers, told, strict=True):
        for mark in poller.last.marks[seen:]:
            print(f"kvtui: {poller.name}: {mark.what}", file=sys.stderr)
    return [len(poller.last.marks) for poller in pollers]
