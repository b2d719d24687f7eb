"""However it ends, the terminal is left as it was found."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.pty_run import PtyRun

OPENS_S = 30.0


@pytest.fixture
def run() -> Iterator[PtyRun]:
    with PtyRun("-m", "kvtui", "chat", size=(80, 24)) as child:
        child.read(OPENS_S, until=lambda: child.shows("Paged") and child.shows("quit"))
        assert child.shows("Paged"), child.output[-2000:]
        child.read(0.5)
        yield child


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_ends_it_clean_with_its_own_code(run: PtyRun, number: int) -> None:
    assert not run.restored()
    run.process.send_signal(number)
    assert run.wait() == 128 + number
    assert run.restored()
    assert not run.shows("Traceback")


@pytest.mark.parametrize("key", ["q", "\x03", "\x11"], ids=["q", "ctrl+c", "ctrl+q"])
def test_a_key_ends_it_clean(run: PtyRun, key: str) -> None:
    run.type(key)
    assert run.wait() == 0
    assert run.restored()


def test_from_a_page_and_with_the_palette_open(run: PtyRun) -> None:
    run.type("?")
    run.read(0.5)
    run.type("\x10")
    run.read(0.8)
    run.process.send_signal(signal.SIGTERM)
    assert run.wait() == 143
    assert run.restored()


def test_a_closed_terminal_ends_it() -> None:
    with PtyRun("-m", "kvtui", "chat", size=(80, 24)) as child:
        child.read(OPENS_S, until=lambda: child.shows("Paged"))
        child.close_terminal()
        _gone(child)


def test_a_closed_terminal_ends_it_even_where_the_hang_up_is_ignored() -> None:
    ignore = (
        "import signal, runpy; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "runpy.run_module('kvtui', run_name='__main__')"
    )
    with PtyRun("-c", ignore, size=(80, 24)) as child:
        child.read(OPENS_S, until=lambda: child.shows("Paged"))
        child.close_terminal()
        _gone(child)


def _gone(child: PtyRun) -> None:
    end = time.monotonic() + 10.0
    while child.process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert child.process.poll() in (129, -signal.SIGHUP)


def test_keys_come_from_the_terminal_when_the_trace_came_from_standard_input(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    rows = "".join(f"{at / 10},{100},{40}\n" for at in range(200))
    trace.write_text(f"arrived_at,num_prefill_tokens,num_decode_tokens\n{rows}")
    with (
        trace.open("rb") as stream,
        PtyRun("-m", "kvtui", "-", "--speed", "0.1", size=(80, 24), stdin=stream) as child,
    ):
        child.read(OPENS_S, until=lambda: child.shows("Paged") and child.shows("quit"))
        child.read(0.5)
        child.type(" ")
        child.read(5.0, until=lambda: child.shows("PAUSED"))
        assert child.shows("PAUSED"), child.output[-2000:]
        child.type("q")
        assert child.wait() == 0
        assert child.restored()


_FAULT = """
from kvtui.tui.mainscreen import MainScreen
def fail(self):
    secret = "what nobody else may see"
    raise ZeroDivisionError("nothing to divide by")
MainScreen.action_slower = fail
import runpy, sys
sys.argv = ["kvtui", "chat"]
runpy.run_module("kvtui", run_name="__main__")
"""


def test_an_error_of_our_own_is_one_sentence_and_a_report(tmp_path: Path) -> None:
    with PtyRun("-c", _FAULT, size=(80, 24), cwd=tmp_path) as child:
        child.read(OPENS_S, until=lambda: child.shows("Paged") and child.shows("quit"))
        child.read(0.5)
        child.type("[")
        assert child.wait() == 1
        assert child.restored()
        said = child.output[child.output.rfind(b"\x1b[?1049l") :].decode()
    assert "kvtui: an error of kvtui itself ended it (ZeroDivisionError: nothing to divide by)" in said
    assert "Traceback" not in said
    (report,) = tmp_path.glob("kvtui-error-*.txt")
    assert report.name in said
    assert "in fail" in report.read_text()
    assert "nobody else" not in report.read_text()
