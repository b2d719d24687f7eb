"""The tour opens with its first scene: nothing else is painted before."""

from __future__ import annotations

from tests.tui.pty_run import PtyRun


def test_the_first_thing_seen_is_the_first_scene() -> None:
    with PtyRun("-m", "kvtui", "tour", size=(80, 24)) as run:
        run.read(30.0, until=lambda: b"next scene" in run.output)
        assert b"next scene" in run.output
        assert b"waiting" not in run.output.partition(b"next scene")[0]
        run.type("q")
        run.read(5.0, until=lambda: run.process.poll() is not None)
    assert run.process.returncode == 0
