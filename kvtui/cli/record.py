"""`kvtui record`: real traffic as a trace."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from kvtui.live.traffic.otlp import Receiver
    from kvtui.live.traffic.proxy import Proxy
    from kvtui.live.traffic.tracefile import TraceFile


@click.command(short_help="Pass traffic on to a server and write it as a trace.")
@click.option("--upstream", metavar="URL", help="The server that answers.")
@click.option("--otlp", metavar="HOST:PORT", help="Take spans here, in place of traffic: 127.0.0.1:4318.")
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
def record(
    upstream: str | None,
    otlp: str | None,
    listen: str,
    output: Path,
    force: bool,
    as_is: bool,
    characters: float,
) -> int:
    """Pass OpenAI-compatible traffic on to a server and write it down as a trace, without its text.

    A line a request: arrival, prompt and output tokens from the answer's usage, time to the first token and
    to the end, and which prompts begin alike, as numbers. With --otlp the server itself tells of every
    request that is over, and nothing stands in its way. Ends with Ctrl-C.

    \b
    kvtui record --upstream http://localhost:8000 --listen 127.0.0.1:8100 -o trace.jsonl
    kvtui record --otlp 127.0.0.1:4318 -o trace.jsonl
    kvtui trace.jsonl
    """
    import asyncio

    from kvtui.live.traffic.tracefile import TraceFile

    if (upstream is None) == (otlp is None):
        raise click.UsageError("give --upstream, whose traffic is passed on, or --otlp, where spans come in")
    host, port = _address(listen if otlp is None else otlp)
    target = None if upstream is None else _upstream(upstream)
    trace = TraceFile(output, about="recorded traffic" if target else "spans of a server", force=force)
    source = _source(target, trace, characters=characters, as_is=as_is)
    try:
        asyncio.run(_serve(source, host, port, target))
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


def _source(target: str | None, trace: TraceFile, *, characters: float, as_is: bool) -> Proxy | Receiver:
    if target is None:
        from kvtui.live.traffic.otlp import Receiver

        return Receiver(trace)
    from kvtui.live.traffic.identity import Prefixes
    from kvtui.live.traffic.proxy import Proxy

    return Proxy(target, trace, prefixes=Prefixes(characters=characters), ask_usage=not as_is)


async def _serve(source: Proxy | Receiver, host: str, port: int, target: str | None) -> None:
    import asyncio

    loop = asyncio.get_running_loop()
    ready: asyncio.Future[int] = loop.create_future()
    serving = asyncio.ensure_future(source.serve(host, port, ready=ready))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, serving.cancel)
    await asyncio.wait((serving, ready), return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        at = f"http://{host}:{ready.result()}"
        where = f"{at}, passing on to {target}" if target else f"{at}/v1/traces for spans"
        print(f"listening on {where}", file=sys.stderr)
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
