"""Servers in trouble, and what is never sent or shown."""

from __future__ import annotations

import socket
import time
from itertools import pairwise

import pytest

from kvtui.errors import ConfigError, KvtuiError
from kvtui.live.fetch import TOKEN, Client, FetchError
from kvtui.live.frames import Film
from kvtui.live.poll import Poller, attach
from kvtui.live.reading import Reading
from kvtui.live.servers import UnknownServer, detect
from kvtui.live.servers.pages import number
from tests.live.fake import Answers, serving, vllm_page


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("http://h:8000/metrics", "http://h:8000"),
        ("http://h:8000/v1/", "http://h:8000"),
        ("https://h/gateway/", "https://h/gateway"),
        ("http://[::1]:80", "http://[::1]:80"),
        ("http://me:secret@h:1", "http://h:1"),
    ],
)
def test_addresses(url: str, name: str) -> None:
    assert Client(url, env={}).name == name


@pytest.mark.parametrize("url", ["", "http://", "ftp://me:secret@h", "http://h:port", "me:secret@"])
def test_what_is_no_address_is_said_without_secrets(url: str) -> None:
    with pytest.raises(ConfigError) as error:
        Client(url, env={})
    assert "secret" not in str(error.value)


def test_nobody_there() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(FetchError, match="cannot be reached: Connection refused"):
        attach(f"127.0.0.1:{port}")


def test_a_slow_server(server: Answers) -> None:
    server.delay_s = 1.0
    start = time.monotonic()
    with pytest.raises(FetchError, match=r"does not answer within 0\.2 s"):
        attach(server.url, timeout_s=0.2)
    assert time.monotonic() - start < 0.9


def test_a_server_that_sends_a_byte_now_and_then(server: Answers) -> None:
    server.trickle_s = 0.05
    with pytest.raises(FetchError, match=r"does not answer within 0\.2 s"):
        attach(server.url, timeout_s=0.2)


def test_an_answer_that_breaks_off(server: Answers) -> None:
    server.cut = 10
    with pytest.raises(FetchError, match="broke off its answer"):
        attach(server.url)


def test_http_errors_and_strangers(server: Answers) -> None:
    server.pages["/metrics"] = 401
    with pytest.raises(FetchError, match="401") as error:
        attach(server.url)
    assert error.value.hint is not None
    assert TOKEN in error.value.hint
    server.pages["/metrics"] = 500
    with pytest.raises(UnknownServer, match="publishes nothing that vLLM, SGLang"):
        attach(server.url)
    server.pages["/metrics"] = "<html>hello</html>"
    with pytest.raises(UnknownServer):
        attach(server.url)


def test_the_token_goes_to_the_server_and_nowhere_else(server: Answers) -> None:
    client = Client(server.url, env={TOKEN: " s3cret\n"})
    client.text("/metrics")
    assert server.asked[-1][2]["Authorization"] == "Bearer s3cret"
    with serving({"/metrics": "stolen"}) as other:
        server.redirect = f"{other.url}/metrics"
        with pytest.raises(FetchError) as error:
            client.text("/metrics")
        assert not other.asked
    assert "s3cret" not in str(error.value)
    with pytest.raises(ConfigError) as broken:
        Client(server.url, env={TOKEN: "s3\ncret"})
    assert "s3" not in str(broken.value)


def test_only_get_requests_are_sent(server: Answers) -> None:
    attach(server.url).look()
    server.pages.clear()
    with pytest.raises(KvtuiError):
        detect(Client(server.url))
    assert {method for method, _, _ in server.asked} == {"GET"}


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_dead_server_is_asked_less_and_less_often(server: Answers) -> None:
    clock = Clock()
    client = Client(server.url)
    poller = Poller(client.name, detect(client), interval_s=1.0, clock=clock)
    server.pages["/metrics"] = 503
    times = []
    for _ in range(40 * 7):
        clock.now += 0.25
        asked = len(server.asked)
        poller.look()
        times += [clock.now] if len(server.asked) > asked else []
    assert [b - a for a, b in pairwise(times)] == [2, 4, 8, 16, 30]
    assert poller.last.stale_s == clock.now
    assert "answers 503" in poller.last.problem
    server.pages["/metrics"] = vllm_page(tokens=2000)
    clock.now += poller.wait_s
    assert poller.look().stale_s is None
    assert poller.wait_s == 1.0


def test_an_answer_that_makes_no_sense_is_a_failure_and_not_the_end(server: Answers) -> None:
    """Whatever goes wrong in a look: what was known grows old in sight, and the next look is a new one."""

    class Odd:
        broken = False

        def read(self) -> Reading:
            if self.broken:
                raise TypeError("a list where a number was")
            return detected.read()

    clock, odd, detected = Clock(), Odd(), detect(Client(server.url))
    poller = Poller("s", odd, interval_s=1.0, clock=clock)
    odd.broken, clock.now = True, 1.0
    assert poller.look().stale_s == 1.0
    assert "cannot be understood (TypeError: a list" in poller.last.problem
    odd.broken, clock.now = False, 9.0
    server.pages["/metrics"] = vllm_page(tokens=2000)
    assert poller.look().stale_s is None


@pytest.mark.parametrize("value", ["+Inf", "-Inf", "NaN"])
def test_what_is_no_number_is_unknown(server: Answers, value: str) -> None:
    server.pages["/metrics"] = vllm_page(running=value, usage=value)  # type: ignore[arg-type]
    snapshot = attach(server.url).last
    assert (snapshot.reading.running.value, snapshot.reading.usage.value) == (None, None)
    assert Film(snapshot).look(snapshot, 0.0).frame.counters.running is None


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400, True, "3", None])
def test_what_is_no_number_in_json_is_unknown(value: object) -> None:
    assert number(value) is None
