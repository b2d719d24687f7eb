"""`kvtui attach`: watch real servers."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli import whatif
from kvtui.cli.lookoptions import look_options, looking
from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.comparison.heading import Heading
    from kvtui.live.demo import DemoPages
    from kvtui.live.filming import LiveFilming
    from kvtui.live.poll import Poller
    from kvtui.live.session import Session
    from kvtui.live.watch import Snapshot
    from kvtui.live.whatif.beside import WhatIf

PLAIN_S = 2.0  # between two lines
SCREEN_S = 0.5


@click.command(short_help="Watch running servers: vLLM, SGLang and others.")
@click.argument("urls", nargs=-1, metavar="URL...")
@click.option("--plain", is_flag=True, help="No screen: a line a server every interval.")
@click.option("--once", is_flag=True, help="Look once and end.")
@click.option("--json", "as_json", is_flag=True, help="With --once or --plain: JSON, null where unknown.")
@click.option("--demo", is_flag=True, help="No server: one that is simulated here, and says so.")
@click.option("--interval", type=Positive(most=3600), metavar="SECONDS", help="Between two looks.")
@click.option("--timeout", default=2.0, show_default=True, type=Positive(most=600), help="For an answer.")
@click.option("--slots", type=click.Choice(["split", "unified"]), help="How llama.cpp was told to keep them.")
@click.option("--events", metavar="ENDPOINT", help="KV events of the first server: tcp://HOST:5557.")
@click.option("--replay", metavar="ENDPOINT", help="Where it gives missed ones again: tcp://HOST:5558.")
@click.option("--topic", default="", metavar="TEXT", help="Only events of this topic.")
@click.option(
    "--requests",
    type=click.Path(path_type=Path),
    metavar="TRACE",
    help="What kvtui record writes now: simulated lanes beside the server get the same requests.",
)
@click.option(
    "--lane", "lanes", multiple=True, metavar="NAME[:key=value,...]", help="Such a lane, as of kvtui run."
)
@click.option(
    "--record", type=click.Path(path_type=Path), metavar="FILE", help="Record it, for kvtui replay."
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@look_options
def attach(urls: tuple[str, ...], **options: Any) -> int:
    """Watch servers through what they publish: vLLM, SGLang, llama.cpp, TensorRT-LLM, TGI, Ollama.

    A bearer token in the environment variable KVTUI_TOKEN is sent to every server named here. Nothing is
    changed on a server.

    \b
    kvtui attach http://localhost:8000
    kvtui attach localhost:8000 --plain
    kvtui attach localhost:8000 localhost:30000 --once --json
    kvtui attach localhost:8000 --requests trace.jsonl --lane contiguous --lane paged:block_size=32
    kvtui attach --demo
    """
    options["urls"] = urls
    _check(urls, options)
    plain = options["plain"] or _no_screen(options)
    pollers, demo = _attached(urls, options, SCREEN_S if not plain else PLAIN_S)
    lanes = whatif.beside(pollers[0], options, demo) if whatif.asked(options) else None
    if options["once"]:
        snapshots = _all([poller.last for poller in pollers], lanes)
        if not options["as_json"]:
            _say(_news(snapshots, lanes), set())
        _print(snapshots, options, pretty=True)
        return 0
    with ExitStack() as ends:
        watched = _watched(pollers, lanes, options, ends)
        if plain:
            return _plain(watched, options)
        return _screen(watched, options)


def _check(urls: tuple[str, ...], options: dict[str, Any]) -> None:
    if options["as_json"] and not (options["once"] or options["plain"]):
        raise click.UsageError("--json goes with --once or --plain")
    if bool(urls) == options["demo"]:
        raise click.UsageError("--demo needs no URL" if urls else "which server? give its URL, or --demo")
    if options["once"] and options["record"] is not None:
        raise click.UsageError("--once looks once: --record goes with the screen or with --plain")
    if options["force"] and options["record"] is None:
        raise click.UsageError("--force goes with --record")
    if options["replay"] and not options["events"]:
        raise click.UsageError("--replay goes with --events")
    whatif.asked(options)


def _no_screen(options: dict[str, Any]) -> bool:
    """Whether there is no terminal for a screen; says so."""
    if options["once"]:
        return True
    from kvtui.tui.terminal import terminal_problem

    problem = terminal_problem()
    if problem:
        print(f"kvtui: no full screen here ({problem}): a line every interval instead", file=sys.stderr)
    return problem is not None


def _attached(
    urls: Sequence[str], options: dict[str, Any], interval_s: float
) -> tuple[list[Poller], DemoPages | None]:
    from kvtui.cli.build import MAX_LANES
    from kvtui.errors import ConfigError
    from kvtui.live.poll import attach as attached
    from kvtui.live.reading import UNSEEN

    if len(urls) > MAX_LANES:
        raise ConfigError(f"{len(urls)} servers are more than the {MAX_LANES} that fit side by side")
    interval_s = options["interval"] or interval_s
    if options["demo"]:
        return _demo(interval_s)
    split = None if options["slots"] is None else options["slots"] == "split"
    needed = bool(options["events"] or options["lanes"] or options["requests"])  # what the first one says
    pollers = [
        attached(
            url,
            interval_s=interval_s,
            timeout_s=options["timeout"],
            split=split,
            patient=len(urls) > 1 and not (needed and at == 0),
        )
        for at, url in enumerate(urls)
    ]
    if all(poller.last.reading.kind == UNSEEN for poller in pollers):
        raise ConfigError(f"none of the {len(urls)} servers answers: {pollers[0].last.problem}")
    return pollers, None


def _demo(interval_s: float) -> tuple[list[Poller], DemoPages]:
    from kvtui.comparison.experiment import DEFAULT_GPU, DEFAULT_MODEL, Experiment
    from kvtui.hardware import catalogue
    from kvtui.live.demo import NAME, DemoPages
    from kvtui.live.poll import Poller
    from kvtui.live.servers import detect
    from kvtui.traces import load
    from kvtui.traces.synthetic import path_of

    workload = load(str(path_of("chat")))
    pages = DemoPages(Experiment(workload, catalogue.model(DEFAULT_MODEL), catalogue.gpu(DEFAULT_GPU)))
    return [Poller(NAME, detect(pages), interval_s=interval_s)], pages


@dataclass
class _Watched:
    """Servers that are being watched, and what is done with what is seen."""

    session: Session
    heading: Heading
    filming: LiveFilming | None
    contents: bool
    beside: WhatIf | None


def _watched(
    pollers: list[Poller], beside: WhatIf | None, options: dict[str, Any], ends: ExitStack
) -> _Watched:
    """Start to watch; everything is closed when `ends` is."""
    from kvtui.comparison.heading import Heading
    from kvtui.live.filming import LiveFilming
    from kvtui.live.report import summary
    from kvtui.live.session import Session

    content = _content(pollers[0], options, ends) if options["events"] else None
    start_s = None if beside is None else beside.start_s
    titles = [_title(poller.name) for poller in pollers]
    session = Session(pollers, titles=titles, contents=[content], start_s=start_s)
    ends.callback(session.close)
    first = [poller.last for poller in pollers]
    models = dict.fromkeys(snapshot.reading.model for snapshot in first if snapshot.reading.model)
    named = (
        "a simulated server, for show" if options["demo"] else ", ".join(t.info.title for t in session.tapes)
    )
    label = "live" if beside is None else "live + simulated"
    heading = Heading(trace=named, model=", ".join(models), label=label)
    filming = None
    if options["record"] is not None:
        infos = [tape.info for tape in session.tapes]
        filming = LiveFilming(options["record"], heading, infos, summary(first), force=options["force"])
        session.heard = filming.take
        ends.callback(lambda: filming.finish(summary(_last(session))))
    session.start()
    if beside is not None:
        beside.start()
        ends.callback(beside.close)
    return _Watched(session, heading, filming, content is not None, beside)


def _content(poller: Poller, options: dict[str, Any], ends: ExitStack) -> Callable[[int | None], Any]:
    from kvtui.errors import ConfigError
    from kvtui.live.subscribe import Subscription

    blocks = poller.last.reading.blocks.value
    if not blocks:
        raise ConfigError(f"{poller.name} does not say how many blocks it has: its events cannot be drawn")
    subscription = Subscription(
        options["events"], blocks=int(blocks), replay=options["replay"], topic=options["topic"]
    )
    ends.callback(subscription.close)
    return subscription.cells


def _title(name: str) -> str:
    return name.partition("://")[2] or name


def _last(session: Session) -> list[Snapshot]:
    return [tape.seen(tape.newest).snapshot for tape in session.tapes]


def _screen(watched: _Watched, options: dict[str, Any]) -> int:
    from kvtui.tui import run as show
    from kvtui.tui.liveshow import LiveShow

    return show(
        LiveShow(watched.session, watched.heading, contents=watched.contents, beside=watched.beside),
        speed=1.0,
        **looking(options),
        filming=watched.filming,
    )


def _plain(watched: _Watched, options: dict[str, Any]) -> int:
    said: set[tuple[str, float, str]] = set()
    while True:
        snapshots = _all(_last(watched.session), watched.beside)
        if not options["as_json"]:
            _say(_news(snapshots, watched.beside), said)
        _print(snapshots, options, pretty=False)
        if watched.filming is not None and watched.filming.problem:
            print(f"kvtui: the recording ends here: {watched.filming.problem}", file=sys.stderr)
            return 2
        time.sleep(options["interval"] or PLAIN_S)


def _all(published: list[Snapshot], beside: WhatIf | None) -> list[Snapshot]:
    """What servers say, and how simulated lanes stand beside them."""
    if beside is None:
        return published
    beside.catch_up()
    return [*published, *beside.snapshots(beside.lanes, beside.now_ps)]


def _print(snapshots: list[Snapshot], options: dict[str, Any], *, pretty: bool) -> None:
    from kvtui.live.report import line, summary

    if options["as_json"]:
        print(json.dumps(summary(snapshots), indent=2 if pretty else None), flush=True)
        return
    clock = time.strftime("%H:%M:%S")
    for snapshot in snapshots:
        reading = snapshot.reading
        who = " ".join(part for part in (snapshot.name, reading.kind, reading.version, reading.model) if part)
        print(f"{clock}  {who}  {line(snapshot)}", flush=True)


def _news(snapshots: list[Snapshot], beside: WhatIf | None) -> Iterator[tuple[str, float, str]]:
    """What happened to servers and to the requests of lanes: to whom, when and what."""
    for snapshot in snapshots:
        yield from ((snapshot.name, mark.time_s, mark.what) for mark in snapshot.marks)
    yield from (("--requests", 0.0, text) for text in (beside.warnings() if beside is not None else ()))


def _say(news: Iterator[tuple[str, float, str]], said: set[tuple[str, float, str]]) -> None:
    """On standard error, once each: a number that changes is no news."""
    for who, time_s, what in news:
        kind = who, time_s, "".join(letter for letter in what if not letter.isdigit())
        if kind not in said:
            said.add(kind)
            print(f"kvtui: {who}: {what}", file=sys.stderr)


attach.params.extend(whatif.OPTIONS)
