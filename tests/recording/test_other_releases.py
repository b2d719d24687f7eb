"""Recordings of other releases, with more, fewer and other names, are read as far as they are understood."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest

from kvtui.errors import RecordingError
from kvtui.exports.exhibits import exhibit_of_recording
from kvtui.frames.chronicle import KINDS
from kvtui.frames.frame import EventKind
from kvtui.recording import Recording, pieces
from kvtui.recording.pieces import Kind
from kvtui.tui.replaying import Replay
from tests.recording.films import film
from tests.tui.stagecraft import small

Change = Callable[[dict[str, Any]], None]


@cache
def made() -> bytes:
    path = Path(mkdtemp()) / "run.kvtui"
    film(path, small(requests=150), report=False, steps=200)
    return path.read_bytes()


def changed(path: Path, kind: Kind, change: Change) -> Recording:
    """The same recording as if another release had written its descriptions of this kind."""
    data = memoryview(made())
    out = bytearray(pieces.opening())
    for piece in pieces.pieces(data, "it"):
        payload = bytes(data[piece.start : piece.start + piece.size])
        if piece.kind == kind:
            told = json.loads(zlib.decompress(payload))
            change(told)
            payload = zlib.compress(json.dumps(told).encode())
        place = {"track": piece.track, "step": piece.step, "now_ps": piece.now_ps, "next_ps": piece.next_ps}
        out += pieces.piece(Kind(piece.kind), payload, **place)
    path.write_bytes(out)
    return Recording(path)


def test_fields_of_later_releases_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "later.kvtui"
    same = changed(path, Kind.LANE, lambda lane: None)
    later = changed(path, Kind.LANE, lambda lane: lane.update(colour="blue"))
    assert [track.info for track in later.tracks] == [track.info for track in same.tracks]
    later = changed(path, Kind.ABOUT, lambda about: about["heading"].update(weather="fine"))
    assert Replay(later).heading == exhibit_of_recording(later).heading == same.heading


def test_a_missing_field_has_its_default_or_is_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "earlier.kvtui"
    earlier = changed(path, Kind.ABOUT, lambda about: about["heading"].pop("usd_per_hour"))
    assert earlier.heading.usd_per_hour is None
    with pytest.raises(RecordingError, match=r"earlier\.kvtui does not tell block_size of its LaneInfo"):
        changed(path, Kind.LANE, lambda lane: lane.pop("block_size"))
    with pytest.raises(RecordingError, match="does not tell trace of its Heading"):
        _ = changed(path, Kind.ABOUT, lambda about: about["heading"].pop("trace")).heading
    for name in ("counters", "heading", "report"):
        with pytest.raises(RecordingError, match=f"does not tell its {name}"):
            exhibit_of_recording(changed(path, Kind.ABOUT, lambda about, name=name: about.pop(name)))


def kinds_told(recording: Recording) -> list[tuple[int, EventKind]]:
    """(request, kind) of all events that frames and chronicles of a recording tell."""
    found = []
    for track in recording.tracks:
        found += [(e.request, e.kind) for e in track.frame(len(track) - 1).events]
        found += [(row[3], KINDS[row[2]]) for row in track.chronicle.events.rows.tolist()]
    return found


def test_kinds_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "kinds.kvtui"
    usual = kinds_told(changed(path, Kind.ABOUT, lambda about: None))
    assert {EventKind.FINISHED, EventKind.PREEMPTED} <= {kind for _, kind in usual}
    other = [kind.value for kind in KINDS]
    at, to = other.index("finished"), other.index("preempted")
    other[at], other[to] = other[to], other[at]  # a release that numbers these two the other way round
    swapped = {EventKind.FINISHED: EventKind.PREEMPTED, EventKind.PREEMPTED: EventKind.FINISHED}
    told = kinds_told(changed(path, Kind.ABOUT, lambda about: about.update(events=other)))
    assert told == [(request, swapped.get(kind, kind)) for request, kind in usual]


def test_kinds_of_later_releases_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "kinds.kvtui"
    names = ["teleported" if kind is EventKind.FINISHED else kind.value for kind in KINDS]
    usual = kinds_told(changed(path, Kind.ABOUT, lambda about: None))
    later = changed(path, Kind.ABOUT, lambda about: about.update(events=names))
    assert kinds_told(later) == [each for each in usual if each[1] is not EventKind.FINISHED]
    track = later.tracks[0]
    assert len(track.frame(len(track) - 1, events=5).events) == 5, "as many as asked for, of those known"


def test_files_without_names_keep_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / "old.kvtui"
    usual = changed(path, Kind.ABOUT, lambda about: None).tracks[0].chronicle.events.rows
    old = changed(path, Kind.ABOUT, lambda about: about.pop("events")).tracks[0].chronicle.events.rows
    assert np.array_equal(usual, old)
