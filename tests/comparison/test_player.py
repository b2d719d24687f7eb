"""The pacing loops, on a wall clock of our own: nothing here waits for real time."""

from __future__ import annotations

import asyncio
import heapq
import math
from itertools import count

import pytest

from kvtui.comparison.player import Clock, Player
from kvtui.frames.frame import Frame
from kvtui.units import PS_PER_S, picoseconds, seconds


class Wall:
    """Wall time that passes only when everybody sleeps, and by what a step is said to cost."""

    def __init__(self) -> None:
        self.now = 0.0
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = count()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, delay: float) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now + delay, next(self._order), future))
        await future

    async def pass_time(self, amount: float) -> None:
        """Wake sleepers in order until `amount` seconds have passed."""
        end = self.now + amount
        await _settle()
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            self.now = max(self.now, due)
            if not future.done():
                future.set_result(None)
            await _settle()
        self.now = max(self.now, end)


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


class FakeLane:
    """Steps of equal virtual length; each costs wall time. Idle until `arrives`."""

    def __init__(
        self,
        wall: Wall,
        *,
        step_s: float = 0.03,
        cost_s: float = 0.0,
        steps: int = 10**9,
        arrives: float = 0.0,
        fails_at: int | None = None,
    ) -> None:
        self.now_ps = 0
        self.steps = 0
        self.done = False
        self.ready = True
        self.longest = 0.0
        self._wall = wall
        self._step_ps = picoseconds(step_s)
        self._cost = cost_s
        self._last = steps
        self._arrives = picoseconds(arrives)
        self._fails_at = fails_at

    def again(self) -> FakeLane:
        """The lane at its start; what is run again costs nothing."""
        lane = FakeLane(self._wall, steps=self._last, fails_at=self._fails_at)
        lane._step_ps, lane._arrives = self._step_ps, self._arrives
        return lane

    @property
    def step_count(self) -> int:
        return self.steps

    @property
    def next_ps(self) -> int:
        return max(self.now_ps, self._arrives)

    def step(self, limit: int = 1) -> bool:
        assert limit == 1
        if self.steps == self._fails_at:
            raise ValueError("broken on purpose")
        self._wall.now += self._cost
        self.steps += 1
        self.now_ps = self.next_ps + self._step_ps
        self.done = self.steps >= self._last
        return not self.done

    def frame(self, *, rows: int = 64, events: int = 200) -> Frame:
        return Frame(self.steps, seconds(self.now_ps), self.done, *[None] * 7, 0.0)  # type: ignore[arg-type]


class FakeHistory:
    """Saves every tenth step at a price, and goes back by counting."""

    def __init__(self, wall: Wall, lane: FakeLane, *, price_s: float = 0.0) -> None:
        self.saved: list[int] = []
        self._wall = wall
        self._lane = lane
        self._price = price_s

    def note(self, lane: FakeLane) -> None:
        if lane.steps >= (self.saved[-1] if self.saved else 0) + 10:
            self.saved.append(lane.steps)
            self._wall.now += self._price

    def at_step(self, step: int) -> FakeLane:
        lane = self._lane.again()
        while lane.steps < step:
            lane.step()
        return lane

    def at_time(self, now_ps: int) -> FakeLane:
        lane = self._lane.again()
        while not lane.done and lane.next_ps < now_ps:
            lane.step()
        return lane


def player_of(wall: Wall, *lanes: FakeLane, speed: float = 1.0, paused: bool = False) -> Player:
    return Player(lanes, clock=Clock(speed=speed, paused=paused), wall=wall, sleep=wall.sleep)


async def running(player: Player) -> asyncio.Task[None]:
    task = asyncio.create_task(player.run())
    await _settle()
    return task


async def stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_the_clock_moves_by_wall_time_times_speed() -> None:
    clock = Clock(speed=4.0)
    clock.advance(0.25)
    assert clock.now_ps == PS_PER_S
    clock.paused = True
    clock.advance(10.0)
    assert clock.now_ps == PS_PER_S
    assert clock.now_s == 1.0


async def test_lanes_stand_at_the_same_virtual_second() -> None:
    wall = Wall()
    short, long = FakeLane(wall, step_s=0.01), FakeLane(wall, step_s=0.07)
    player = player_of(wall, short, long, speed=4.0)
    task = await running(player)
    await wall.pass_time(5.0)
    assert player.clock.now_s == pytest.approx(20.0, rel=0.02)
    for lane, step in ((short, 0.01), (long, 0.07)):
        assert 0 <= seconds(lane.now_ps) - player.clock.now_s < step + 1e-9
    assert player.reached() is None  # asked for the first time: nothing to measure from
    await wall.pass_time(1.0)
    assert player.reached() == pytest.approx(4.0, rel=0.05)
    await stop(task)


async def test_the_clock_waits_for_a_lane_that_cannot_keep_up() -> None:
    wall = Wall()
    slow, quick = FakeLane(wall, step_s=0.03, cost_s=0.006), FakeLane(wall)
    player = player_of(wall, slow, quick, speed=100.0)
    player.reached()
    task = await running(player)
    await wall.pass_time(4.0)
    assert player.clock.now_s < 4.0 * 0.03 / 0.006 * 1.05, "no faster than the slow lane's steps allow"
    assert player.clock.now_s > 4.0, "but it goes on"
    assert player.reached() < 10.0
    await stop(task)


async def test_without_a_limit_it_goes_as_fast_as_the_steps_allow() -> None:
    wall = Wall()
    lanes = [FakeLane(wall, cost_s=0.0001), FakeLane(wall, cost_s=0.0002)]
    player = player_of(wall, *lanes, speed=math.inf)
    task = await running(player)
    await wall.pass_time(2.0)
    possible = 2.0 / 0.0003 * 0.03
    assert player.clock.now_s > 0.6 * possible
    await stop(task)


async def test_nobody_waits_longer_than_a_time_slice() -> None:
    wall = Wall()
    player = player_of(wall, *(FakeLane(wall, cost_s=0.001) for _ in range(2)), speed=math.inf)
    task = await running(player)
    gaps, last = [], wall.now
    for _ in range(200):
        await wall.pass_time(0.0005)  # what another task sees: how much time passes between two turns
        gaps.append(wall.now - last)
        last = wall.now
    assert max(gaps) < 0.012
    await stop(task)


async def test_a_pause_holds_everything_and_time_is_not_made_up_for() -> None:
    wall = Wall()
    lane = FakeLane(wall)
    player = player_of(wall, lane)
    task = await running(player)
    await wall.pass_time(1.0)
    player.pause()
    stood = lane.steps, player.clock.now_ps
    await wall.pass_time(60.0)
    assert (lane.steps, player.clock.now_ps) == stood
    player.pause(False)
    await wall.pass_time(0.5)
    assert seconds(player.clock.now_ps - stood[1]) == pytest.approx(0.5, abs=0.05)
    await stop(task)


async def test_after_a_suspension_the_clock_does_not_leap() -> None:
    wall = Wall()
    player = player_of(wall, FakeLane(wall))
    task = await running(player)
    wall.now += 3600.0
    await wall.pass_time(0.1)
    assert player.clock.now_s < 0.5
    await stop(task)


async def test_one_step_takes_one_lane_on_and_the_others_to_its_time() -> None:
    wall = Wall()
    short, long = FakeLane(wall, step_s=0.01), FakeLane(wall, step_s=0.05)
    player = player_of(wall, short, long, paused=True)
    task = await running(player)
    player.step(1)
    await wall.pass_time(0.1)
    assert (long.steps, short.steps) == (1, 5)
    assert player.clock.now_ps == long.now_ps == short.now_ps
    await wall.pass_time(5.0)
    assert (long.steps, short.steps) == (1, 5), "and then it stands again"
    await stop(task)


async def test_a_step_on_a_lane_that_has_ended_takes_another() -> None:
    wall = Wall()
    ended, going = FakeLane(wall, steps=1), FakeLane(wall)
    ended.step()
    player = player_of(wall, ended, going, paused=True)
    player.step(0)
    assert (ended.steps, going.steps) == (1, 1)


async def test_an_idle_lane_does_not_show_what_is_yet_to_come() -> None:
    wall = Wall()
    lane = FakeLane(wall, arrives=10.0)
    player = player_of(wall, lane)
    task = await running(player)
    await wall.pass_time(9.9)
    assert lane.steps == 0
    await wall.pass_time(0.5)
    assert lane.steps > 0
    await stop(task)


async def test_a_broken_lane_does_not_stop_the_other() -> None:
    wall = Wall()
    broken, sound = FakeLane(wall, fails_at=3), FakeLane(wall)
    player = player_of(wall, broken, sound)
    task = await running(player)
    await wall.pass_time(3.0)
    assert isinstance(player.failures[0], ValueError)
    assert player.failures[1] is None
    assert broken.steps == 3
    assert seconds(sound.now_ps) > 2.9
    assert not player.ended
    await stop(task)


async def test_the_run_ends_with_the_last_lane_and_keeps_its_time() -> None:
    wall = Wall()
    player = player_of(wall, FakeLane(wall, steps=10), FakeLane(wall, steps=100))
    task = await running(player)
    await wall.pass_time(10.0)
    assert task.done()
    assert player.ended
    assert player.time_s == pytest.approx(3.0)


async def test_a_frame_is_the_same_object_until_the_lane_has_stepped() -> None:
    wall = Wall()
    player = player_of(wall, FakeLane(wall), FakeLane(wall), paused=True)
    first, other = player.frame(0), player.frame(1)
    assert player.frame(0) is first
    player.step(0)
    assert player.frame(0) is not first
    assert player.frame(0).step == 1
    assert player.frame(1) is other


async def test_a_change_of_speed_is_not_measured_together_with_what_was_before() -> None:
    wall = Wall()
    player = player_of(wall, FakeLane(wall), speed=1.0)
    player.reached()
    task = await running(player)
    await wall.pass_time(2.0)
    player.reached()
    player.set_speed(16.0)
    assert player.reached() is None
    await wall.pass_time(1.0)
    assert player.reached() == pytest.approx(16.0, rel=0.05)
    await stop(task)


async def test_before_a_look_lanes_that_lag_a_little_are_brought_up_to_the_clock() -> None:
    wall = Wall()
    lanes = FakeLane(wall, step_s=0.01), FakeLane(wall, cost_s=0.001, step_s=0.01)
    player = player_of(wall, *lanes, paused=True)
    player.clock.now_ps = picoseconds(0.1)
    player.level()
    assert lanes[0].now_ps == player.clock.now_ps
    assert lanes[1].steps == 2, "and no longer than a look may take"


def travelling(wall: Wall, *lanes: FakeLane, price_s: float = 0.0) -> tuple[Player, list[FakeHistory]]:
    histories = [FakeHistory(wall, lane, price_s=price_s) for lane in lanes]
    clock = Clock(paused=True)
    return Player(lanes, clock=clock, histories=histories, wall=wall, sleep=wall.sleep), histories


def steps(player: Player) -> list[int]:
    return [lane.step_count for lane in player.lanes]


async def test_a_step_back_undoes_one_step_and_takes_the_others_along() -> None:
    wall = Wall()
    player, _ = travelling(wall, FakeLane(wall, step_s=0.01), FakeLane(wall, step_s=0.05))
    for _ in range(3):
        player.step(1)
        player.level()
    assert steps(player) == [15, 3]
    player.back(1)
    assert steps(player) == [10, 2]
    assert player.clock.now_s == pytest.approx(0.1)
    for _ in range(5):
        player.back(1)
    assert steps(player) == [0, 0]
    assert seconds(player.furthest_ps) == pytest.approx(0.15)


async def test_a_step_back_at_the_end_undoes_the_last_step_of_all() -> None:
    wall = Wall()
    player, _ = travelling(wall, FakeLane(wall, steps=10), FakeLane(wall, steps=3))
    player.seek(picoseconds(5.0))
    player.level()
    assert player.ended
    player.back(1)
    assert steps(player) == [9, 3]
    assert not player.ended


async def test_a_time_that_was_not_reached_before_is_reached_in_the_loops() -> None:
    wall = Wall()
    player, _ = travelling(wall, FakeLane(wall), FakeLane(wall, cost_s=0.001))
    task = await running(player)
    player.seek(picoseconds(3.0))
    assert steps(player) == [0, 0]
    assert player.lagging
    await wall.pass_time(1.0)
    assert not player.lagging
    assert steps(player) == [100, 100]
    player.seek(picoseconds(0.6))
    assert steps(player) == [20, 20]
    player.seek(picoseconds(-1.0))
    assert steps(player) == [0, 0]
    player.seek(player.furthest_ps)
    assert steps(player) == [100, 100]
    await stop(task)


async def test_a_lane_that_failed_is_sound_before_its_failure() -> None:
    wall = Wall()
    player, _ = travelling(wall, FakeLane(wall, fails_at=5), FakeLane(wall))
    player.seek(picoseconds(0.3))
    player.level()
    assert player.failures[0] is not None
    player.seek(picoseconds(0.06))
    assert player.failures == [None, None]
    assert steps(player) == [2, 2]
    player.seek(picoseconds(0.3))
    assert isinstance(player.failures[0], ValueError)


@pytest.mark.parametrize("speed", [1.0, 64.0, math.inf])
async def test_saving_takes_a_small_share_of_the_time_however_dear_it_is(speed: float) -> None:
    wall = Wall()
    player, histories = travelling(
        wall, FakeLane(wall, cost_s=0.0001), FakeLane(wall, cost_s=0.0001), price_s=0.02
    )
    player.set_speed(speed)
    player.pause(False)
    task = await running(player)
    await wall.pass_time(20.0)
    spent = 0.02 * sum(len(history.saved) for history in histories)
    assert 0 < spent <= 0.05 * wall.now
    await stop(task)
