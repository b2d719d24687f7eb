"""A local server that answers what a test tells it to."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Answers:
    """Pages by path; a page is text, an (error) status, or text with fewer bytes than it promises."""

    pages: dict[str, str | int] = field(default_factory=dict)
    delay_s: float = 0.0  # before each answer
    trickle_s: float = 0.0  # between single bytes
    cut: int = 0  # bytes left out although promised
    redirect: str = ""
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(pages: dict[str, str | int]) -> Iterator[Answers]:
    answers = Answers(dict(pages))

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            answers.asked.append((self.command, self.path, dict(self.headers)))
            time.sleep(answers.delay_s)
            page = answers.pages.get(self.path, answers.pages.get(self.path.partition("?")[0], 404))
            if answers.redirect:
                self.send_response(302)
                self.send_header("Location", answers.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if isinstance(page, int):
                self.send_error(page)
                return
            body = page.encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            body = body[: len(body) - answers.cut]
            try:
                for at in range(0, len(body), 1 if answers.trickle_s else len(body)):
                    self.wfile.write(body[at : at + 1] if answers.trickle_s else body)
                    time.sleep(answers.trickle_s)
            except OSError:  # nobody reads any more
                return

        do_POST = do_PUT = do_DELETE = do_GET

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    answers.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield answers
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def vllm_page(
    *,
    running: float = 2,
    waiting: float = 1,
    usage: float | None = 0.547,
    usage_name: str = "vllm:kv_cache_usage_perc",
    tokens: float = 1000,
    finished: float = 10,
    started: float | None = None,
    model: str = "m",
    engine: str = "0",
    more: str = "",
) -> str:
    """A small page in the form of vLLM's."""
    labels = f'{{engine="{engine}",model_name="{model}"}}'
    stopped = f'{{engine="{engine}",finished_reason="stop",model_name="{model}"}}'
    lines = [
        "# HELP vllm:num_requests_running Number of requests in model execution batches.",
        "# TYPE vllm:num_requests_running gauge",
        f"vllm:num_requests_running{labels} {running}",
        f"vllm:num_requests_waiting{labels} {waiting}",
        f"vllm:generation_tokens_total{labels} {tokens}",
        f"vllm:request_success_total{stopped} {finished}",
    ]
    if usage is not None:
        lines.append(f"{usage_name}{labels} {usage}")
    if started is not None:
        lines.append(f"process_start_time_seconds {started}")
    return "\n".join(lines) + "\n" + more
