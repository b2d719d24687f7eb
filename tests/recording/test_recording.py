"""What is recorded comes back: the same frames, however the file ended and however it is read."""

from __future__ import annotations

from dataclasses import replace
from errno import ENOSPC
from functools import cache
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvtui.answers.report import summary
from kvtui.errors import FileIsThere, RecordingError
from kvtui.frames.frame import Frame
from kvtui.recording import Recorder, Recording, recorder
from kvtui.recording.filming import Filming
from kvtui.recording.packing import Shape, decode, encode
from kvtui.recording.pieces import pieces
from kvtui.recording.report import report_of
from tests.answers.test_report import experiment
from tests.comparison.test_checkpoints import same
from tests.recording.films import film, filmed, straight
from tests.tui.frames import NONE, contiguous_frame, lane, paged_frame
from tests.tui.stagecraft import small

if TYPE_CHECKING:
    from typing_extensions import Buffer

SHAPES = {
    "bytes": Shape(np.uint8),
    "ids": Shape(np.int32),
    "queue": Shape(np.int64, 2, 1),
    "floats": Shape(np.float64),
}


def test_every_frame_comes_back_as_it_was() -> None:
    recording = Recording(filmed())
    for at, track in enumerate(recording.tracks):
        frames = straight(at)
        assert track.piece(len(track) - 1).step == frames[-1].step
        for index in range(len(track)):
            same(track.frame(index), frames[index])


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_frame_can_be_read_at_any_time(data: st.DataObject) -> None:
    recording = Recording(filmed())
    for _ in range(8):
        at = data.draw(st.integers(0, 1))
        index = data.draw(st.integers(0, len(straight(at)) - 1))
        same(recording.tracks[at].frame(index), straight(at)[index])


def test_lists_are_cut_as_asked() -> None:
    track = Recording(filmed()).tracks[0]
    full = straight(0)[40]
    assert len(full.waiting) > 3
    cut = track.frame(40, rows=3, events=2)
    assert (cut.waiting, cut.running, cut.events) == (full.waiting[:3], full.running[:3], full.events[:2])


planes = st.fixed_dictionaries(
    {
        "bytes": st.lists(st.integers(0, 255), max_size=30),
        "ids": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=30),
        "queue": st.lists(st.tuples(st.integers(0, 8), st.integers(-(2**63), 2**63 - 1)), max_size=12),
        "floats": st.lists(st.floats(width=64), max_size=12),
    }
)


def arrays(values: dict[str, list[object]]) -> dict[str, np.ndarray]:
    return {name: np.array(values[name], shape.dtype).reshape(-1) for name, shape in SHAPES.items()}


@given(old=planes, new=planes)
def test_what_is_packed_comes_out_bit_for_bit(
    old: dict[str, list[object]], new: dict[str, list[object]]
) -> None:
    before, after = arrays(old), arrays(new)
    got = decode(before, encode(before, after, SHAPES), SHAPES)
    for name, plane in after.items():
        assert got[name].dtype == plane.dtype
        assert got[name].tobytes() == plane.tobytes(), name


def test_a_queue_that_moves_up_costs_little() -> None:
    rng = np.random.default_rng(3)
    queue = rng.integers(0, 2**60, 400)
    before = {**arrays({name: [] for name in SHAPES}), "queue": queue}
    after = {**before, "queue": np.concatenate([queue[20:], rng.integers(0, 2**60, 4)])}
    assert len(encode(before, after, SHAPES)) < 64


def test_the_chronicle_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "shared.kvtui"
    shared = experiment("shared-prefix", "paged")
    film(path, shared, report=False, steps=150)
    (lane,) = shared.build()
    while lane.step_count < 150 and lane.step():
        pass
    told, wanted = Recording(path).tracks[0].chronicle, lane.chronicle
    assert np.array_equal(told.events.rows, wanted.events.rows)
    assert np.array_equal(told.ops.rows, wanted.ops.rows)
    request = next(r.number for r in lane.engine.scheduler.running.values() if r.keys)
    assert list(told.keys(request)) == list(wanted.keys(request)) != []


# ---- files that are not what they should be


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Some steps of each lane, without a report."""
    path = tmp_path_factory.mktemp("films") / "short.kvtui"
    film(path, small(), report=False, steps=12)
    return path.read_bytes()


@cache
def few(at: int) -> tuple[Frame, ...]:
    lane = small().build()[at]
    frames = [lane.frame()]
    while lane.step_count < 12 and lane.step():
        frames.append(lane.frame())
    return tuple(frames)


def test_cut_anywhere_it_opens_up_to_its_last_whole_frame(short: bytes, tmp_path: Path) -> None:
    found = list(pieces(memoryview(short), "it"))
    first = next(piece for piece in found if piece.now_ps or piece.step or piece.kind == 2)
    path = tmp_path / "cut.kvtui"
    for end in range(first.start + first.size, len(short), 97):
        path.write_bytes(short[:end])
        whole = [piece for piece in found if piece.start + piece.size <= end and piece.kind in (2, 3)]
        recording = Recording(path)
        assert sum(map(len, recording.tracks)) == len(whole)
        for track in recording.tracks:
            if len(track):
                track.frame(len(track) - 1)
    path.write_bytes(short[: first.start])
    with pytest.raises(RecordingError, match="no frame"):
        Recording(path)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_noticed(short: bytes, tmp_path: Path, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(short) - 1))
    broken = bytearray(short)
    broken[at] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "broken.kvtui"
    path.write_bytes(broken)
    try:
        recording = Recording(path)
    except RecordingError:
        return
    # A size that reaches beyond the end looks like a file that was cut off: what is left is as it was.
    for at, track in enumerate(recording.tracks):
        for index in range(len(track)):
            same(track.frame(index), few(at)[index])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "not a recording"),
        (b"timestamp,prompt\n1,2\n" * 9, "not a recording"),
        (b"kvtui recording\n\x09\0\0\0", "format 9"),
        (b"kvtui recording\n\x01\0\0\0", "no frame"),
    ],
)
def test_other_files_are_refused_in_a_sentence(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.kvtui"
    path.write_bytes(content)
    with pytest.raises(RecordingError, match=words):
        Recording(path)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(RecordingError, match="cannot be opened"):
            Recording(path)


def test_nothing_is_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "run.kvtui"
    path.write_text("mine")
    with pytest.raises(FileIsThere, match="not overwritten"):
        Recorder(path, {})
    assert path.read_text() == "mine"
    Recorder(path, {}, force=True).close()
    assert path.read_bytes().startswith(b"kvtui recording")
    with pytest.raises(RecordingError, match="cannot be written"):
        Recorder(tmp_path / "no" / "folder", {})


# ---- reports


@pytest.mark.parametrize("room", [0, 40])
def test_a_full_disk_leaves_no_empty_file_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    class Full(FileIO):
        def write(self, data: Buffer, /) -> int:
            if left := room - self.tell():
                return super().write(memoryview(data)[:left])
            raise OSError(ENOSPC, "No space left on device")

    path = tmp_path / "run.kvtui"
    with monkeypatch.context() as disk:
        disk.setattr(recorder, "FileIO", Full)
        with pytest.raises(RecordingError, match=r"run\.kvtui cannot be written: No space left"):
            Recorder(path, {})
    assert not path.exists()
    Recorder(path, {}).close()


def test_the_report_is_the_runs_own() -> None:
    experiment = small(requests=150)
    lanes = experiment.build(watched=False)
    for one in lanes:
        one.run()
    assert report_of(Recording(filmed())) == summary(experiment, lanes)


def test_a_run_that_was_killed_reports_its_last_frames(tmp_path: Path) -> None:
    path = tmp_path / "cut.kvtui"
    film(path, small(), report=False, steps=40)
    report = report_of(Recording(path))
    for lane_report in report["lanes"]:
        assert lane_report["steps"] == 40
        assert lane_report["requests"]["total"] == 60
        assert lane_report["waiting_for_memory_pct"] is None
        assert "ends before" in lane_report["notes"][-1]


# ---- frames of other origin


def test_frames_that_nobody_simulated(tmp_path: Path) -> None:
    """A live server tells less: what is unknown stays unknown, and steps may be missing."""
    path = tmp_path / "live.kvtui"
    recorder = Recorder(path, {"heading": {"trace": "live"}})
    frames = [contiguous_frame(), paged_frame()]
    unknown = frames[1].counters._replace(ttft=NONE)
    frames[1] = replace(frames[1], step=frames[0].step + 7, counters=unknown, copied=(3, 9))
    track = recorder.add(lane("paged", pool_bytes=None, label="live"))
    for at, frame in enumerate(frames):
        recorder.note(track, frame, now_ps=round((frame.time_s + at) * 1e12))
    other = recorder.add(lane("contiguous"))
    recorder.note(other, frames[0], now_ps=round(frames[0].time_s * 1e12))
    recorder.close()
    recording = Recording(path)
    assert recording.tracks[0].info == lane("paged", pool_bytes=None, label="live")
    assert recording.about["heading"]["trace"] == "live"
    for at, frame in enumerate(frames):
        got = recording.tracks[0].frame(at)
        assert (got.counters, got.copied, got.events) == (frame.counters, frame.copied, frame.events)
        assert np.array_equal(got.cells.stored, frame.cells.stored)
    assert recording.tracks[0].at_step(frames[1].step) == 1
    assert len(recording.tracks[1]) == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 3), max_size=4)), max_size=8))
def test_histories_come_back_however_they_go_on(tmp_path_factory: pytest.TempPathFactory, looks: Any) -> None:
    """They grow at their end, lose what is oldest, or are others altogether; some tell the same twice."""
    path = tmp_path_factory.mktemp("histories") / "run.kvtui"
    recorder = Recorder(path, {})
    track, frames = recorder.add(lane("paged")), []
    frame = replace(paged_frame(), events=paged_frame().events[:3], batch=paged_frame().batch[:3])
    for at, (gone, new) in enumerate(looks):
        events = [frame.events[0]._replace(a=number) for number in new]
        points = [(float(number), number) for number in new]
        frame = replace(
            frame,
            step=frame.step + 1,
            events=(*events, *frame.events)[: 6 - gone] or frame.events[:1],
            batch=(*frame.batch, *points)[gone:],
        )
        frames.append(frame)
        recorder.note(track, frame, now_ps=at)
    recorder.close()
    for at, frame in enumerate(frames):
        got = Recording(path).tracks[0].frame(at)
        assert (got.events, got.batch) == (frame.events, frame.batch)


def test_steps_that_only_fill_blocks_share_a_frame(tmp_path: Path) -> None:
    what, path = small(requests=12), tmp_path / "run.kvtui"
    filming = Filming(path, what)
    filming.run(what.build(), lambda: None, lambda lane, error: None)
    for engine, track in zip(what.build(), Recording(path).tracks, strict=True):
        filmed_at = {(track.piece(n).step, n == len(track) - 1): n for n in range(len(track))}
        last, seen = engine.frame(), 0
        while engine.step() or not last.done:
            frame = engine.frame()
            if (n := filmed_at.get((frame.step, frame.done))) is not None:
                same(track.frame(n), frame)
                last, seen = frame, seen + 1
            else:
                assert (frame.cells.owner == last.cells.owner).all()
                assert frame.counters.finished == last.counters.finished
        assert seen == len(track) - 1 < engine.step_count * 0.7
        assert engine.chronicle is not None
        assert (track.chronicle.events.rows == engine.chronicle.events.rows).all()
        assert (track.chronicle.ops.rows == engine.chronicle.ops.rows).all()
