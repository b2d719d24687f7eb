"""How much is sent, and how often."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events

from kvtui.tui.app import KvtuiApp
from kvtui.tui.flow import LEAST_BYTES, MOST_BYTES, UNFOCUSED_S, Flow, Rest
from kvtui.tui.grid import BlockGrid
from kvtui.tui.view.cells import Kind, code
from kvtui.tui.view.palette import Look
from kvtui.tui.view.scene import Scene
from tests.tui.stagecraft import small

CODES = np.array([code(Kind.STORED, 8, hue) for hue in range(8)], np.uint16)


def test_nothing_is_sent_while_the_last_frame_is_on_its_way() -> None:
    flow = Flow()
    assert flow.open(0.0, focused=True, writing=False)
    assert not flow.open(0.05, focused=True, writing=True)
    assert flow.open(0.1, focused=True, writing=False)


def test_a_slow_link_makes_frames_smaller_and_a_good_one_larger_again() -> None:
    flow = Flow()
    sizes = []
    for at in range(20):
        flow.open(at, focused=True, writing=True)
        sizes.append(flow.bytes)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == LEAST_BYTES
    for at in range(40):
        flow.open(20 + at, focused=True, writing=False)
    assert flow.bytes == MOST_BYTES


def test_one_look_in_five_is_enough_while_nothing_moves() -> None:
    rest = Rest()
    assert not rest.skip()
    rest.settle(calm=True)
    assert [rest.skip() for _ in range(6)] == [True] * 4 + [False] * 2
    rest.settle(calm=True)
    rest.settle(calm=False)
    assert not rest.skip()


async def test_a_paused_screen_hardly_looks_and_answers_keys_all_the_same() -> None:
    app = KvtuiApp(small())
    app.stage.player.pause()
    async with app.run_test(size=(80, 24)) as pilot:
        app.main.paint()
        looks, scene = [0], app.stage.scene

        def counted() -> Scene:
            looks[0] += 1
            return scene()

        app.stage.scene = counted  # type: ignore[method-assign]
        for _ in range(50):
            app.main._tick()
        assert looks[0] <= 12
        before = app.main._shown
        await pilot.press("right")
        assert app.main._shown is not before


def test_without_the_focus_it_looks_twice_a_second() -> None:
    flow = Flow()
    looks = sum(flow.open(at / 20, focused=False, writing=False) for at in range(200))
    assert looks == 10 / UNFOCUSED_S


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(100, 3000), st.integers(0, 6))
def test_rows_that_stay_behind_catch_up(seed: int, most: int, churn: int) -> None:
    rng = np.random.default_rng(seed)
    grid = BlockGrid(Look())
    codes = rng.choice(CODES, (12, 20))
    grid.show(codes)
    codes = rng.choice(CODES, (12, 20))
    for frame in range(200):
        if frame < 20:  # some rows change all the time
            codes = codes.copy()
            codes[:churn] = rng.choice(CODES, (churn, 20))
        before = grid.codes
        whole = grid.show(codes, most=most)
        sent = (grid.codes != before).any(1).sum()
        assert whole == bool((grid.codes == codes).all())
        assert whole or sent >= 1
        assert 29 * (grid.codes != before).sum() <= max(most, 29 * 20)
        if whole and frame >= 20:
            break
    assert (grid.codes == codes).all()


def test_no_row_waits_for_ever() -> None:
    rng = np.random.default_rng(3)
    grid = BlockGrid(Look())
    codes = rng.choice(CODES, (12, 20))
    grid.show(codes)
    codes = codes.copy()
    codes[11, 3] = code(Kind.FREE)
    for _ in range(60):
        codes = codes.copy()
        codes[:6] = rng.choice(CODES, (6, 20))
        grid.show(codes, most=700)
    assert grid.codes[11, 3] == code(Kind.FREE)


async def test_what_stands_still_is_shown_whole() -> None:
    app = KvtuiApp(small(), speed=16.0)
    async with app.run_test(size=(200, 60)) as pilot:
        app.main._flow._bytes = 1.0
        await pilot.pause(0.4)
        await pilot.press("space")
        for view, frame in zip(app.main.board.lanes, app.stage.scene().frames, strict=False):
            assert view.model is not None
            assert (view.grid.codes == view.model.codes(frame.cells, frame.copied)).all()


async def test_with_the_focus_elsewhere_fewer_frames_are_drawn() -> None:
    app = KvtuiApp(small(), speed=1.0)
    async with app.run_test(size=(120, 36)) as pilot:
        app.post_message(events.AppBlur())
        await pilot.pause(0.2)
        painted: list[int] = []
        paint = app.main._paint_grids
        app.main._paint_grids = lambda scene: painted.append(1) or paint(scene)  # type: ignore[method-assign]
        await pilot.pause(1.2)
        assert len(painted) <= 3
        app.post_message(events.AppFocus())
        await pilot.pause(1.0)
        assert len(painted) > 5
