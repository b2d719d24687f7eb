"""`kvtui record`: real traffic as a trace."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import click

from kvtui.cli.types import Positive

if TYPE_CHECKING:
    import asyncio

    from kvtui.live.traffic.tracefile import TraceFile


@click.command(short_help="Pass traffic on to a server and write it as a trace.")
@click.option("--upstream", metavar="URL", help="The server that answers.")
@click.option("--otlp", metavar="HOST:PORT", help="Take spans here, in place of traffic: 127.0.0.1:4318.")
@click.option(
    "--kv-events", metavar="ENDPOINT", help="Derive requests from KV events of vLLM: tcp://HOST:5557."
)
@click.option("--replay", metavar="ENDPOINT", help="Where it gives older ones again: tcp://HOST:5558.")
@click.option("--topic", default="", metavar="TEXT", help="Only KV events of this topic.")
@click.option("--listen", default="127.0.0.1:8100", show_default=True, metavar="HOST:PORT", help="Where to.")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), metavar="FILE", help="A new .jsonl"
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--as-is", is_flag=True, help="Do not ask streamed answers for their usage.")
@click.option(
    "--characters",
    default=4.0,
    show_default=True,
    type=Positive(most=1000),
    help="A token, where prompts are text: for telling which begin alike.",
)
def record(output: Path, force: bool, **options: Any) -> int:
    """Pass OpenAI-compatible traffic on to a server and write it down as a trace, without its text.

    A line a request: arrival, prompt and output tokens from the answer's usage, time to the first token and
    to the end, and which prompts begin alike, as numbers. With --otlp the server itself tells of every
    request that is over, and nothing stands in its way; with --kv-events requests are derived from the blocks
    that they store, lengths to within a block. Ends with Ctrl-C.

    \b
    kvtui record --upstream http://localhost:8000 --listen 127.0.0.1:8100 -o trace.jsonl
    kvtui record --otlp 127.0.0.1:4318 -o trace.jsonl
    kvtui record --kv-events tcp://localhost:5557 --replay tcp://localhost:5558 -o trace.jsonl
    kvtui trace.jsonl
    """
    import asyncio

    from kvtui.live.traffic.packages import loops
    from kvtui.live.traffic.tracefile import TraceFile

    about, make = _chosen(options)
    trace = TraceFile(output, about=about, force=force)
    try:
        with asyncio.Runner(loop_factory=loops()) as runner:
            runner.run(_serve(make(trace)))
    except BaseException:
        if trace.new and not trace.rows:
            output.unlink(missing_ok=True)  # nothing was recorded
        raise
    finally:
        trace.close()
    if trace.problem:
        print(f"kvtui: the trace ends early: {trace.problem}", file=sys.stderr)
    print(f"{trace.rows:,} requests written to {output}", file=sys.stderr)
    return 2 if trace.problem else 0


class _Source(NamedTuple):
    serve: Callable[[asyncio.Future[int]], Coroutine[Any, Any, None]]  # told a port when there is one
    where: Callable[[int], str]  # a sentence for it


def _chosen(options: dict[str, Any]) -> tuple[str, Callable[[TraceFile], _Source]]:
    """What the trace is about, and where it comes from."""
    sources = {"upstream": _traffic, "otlp": _spans, "kv_events": _events}
    chosen = [source for name, source in sources.items() if options[name] is not None]
    if len(chosen) != 1:
        raise click.UsageError(
            f"give {'only one' if chosen else 'one'} of --upstream, whose traffic is passed on, --otlp, "
            "where spans come in, and --kv-events, where they are published"
        )
    return chosen[0](options)


def _traffic(options: dict[str, Any]) -> tuple[str, Callable[[TraceFile], _Source]]:
    (host, port), target = _address(options["listen"]), _upstream(options["upstream"])

    def make(trace: TraceFile) -> _Source:
        from kvtui.live.traffic.identity import Prefixes
        from kvtui.live.traffic.proxy import Proxy

        prefixes = Prefixes(characters=options["characters"])
        proxy = Proxy(target, trace, prefixes=prefixes, ask_usage=not options["as_is"])
        return _Source(
            lambda ready: proxy.serve(host, port, ready=ready),
            lambda found: f"listening on http://{host}:{found}, passing on to {target}",
        )

    return "recorded traffic", make


def _spans(options: dict[str, Any]) -> tuple[str, Callable[[TraceFile], _Source]]:
    host, port = _address(options["otlp"])

    def make(trace: TraceFile) -> _Source:
        from kvtui.live.traffic.otlp import Receiver

        receiver = Receiver(trace)
        return _Source(
            lambda ready: receiver.serve(host, port, ready=ready),
            lambda found: f"listening on http://{host}:{found}/v1/traces for spans",
        )

    return "spans of a server", make


def _events(options: dict[str, Any]) -> tuple[str, Callable[[TraceFile], _Source]]:
    endpoint, replay, topic = (options[name] for name in ("kv_events", "replay", "topic"))

    def make(trace: TraceFile) -> _Source:
        from kvtui.live.traffic.derived.source import KvEvents

        events = KvEvents(trace)
        return _Source(
            lambda ready: events.serve(endpoint, replay=replay, topic=topic, ready=ready),
            lambda _: f"listening to KV events of {endpoint}",
        )

    return "derived from KV events", make


async def _serve(source: _Source) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    ready: asyncio.Future[int] = loop.create_future()
    serving = asyncio.ensure_future(source.serve(ready))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        print(source.where(ready.result()), file=sys.stderr)
    try:
        await serving
    except asyncio.CancelledError:
        return


def _address(text: str) -> tuple[str, int]:
    from kvtui.errors import ConfigError

    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise ConfigError(f"'{text}' is no address to listen on", hint="for example 127.0.0.1:8100")
    return host.strip("[]"), int(port)


def _upstream(url: str) -> str:
    from kvtui.errors import ConfigError

    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ConfigError("--upstream is no address of a server", hint="for example http://localhost:8000")
    return parts.geturl().rstrip("/").removesuffix("/v1")
