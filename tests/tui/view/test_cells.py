"""Blocks become cells by rule: exact cases, and a slow reference that says the same of any memory."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtui.frames.frame import Cell, Cells
from kvtui.tui.view.cells import MANY, GridModel, Kind, code, hues, letters, parts
from kvtui.tui.view.ink import hue_of
from kvtui.tui.view.scale import Scale
from tests.tui.frames import cells_of

BLOCK = 16


def cell(*blocks: tuple[Cell, int, int], refs: tuple[int, ...] = (), copied: tuple[int, ...] = ()) -> tuple:
    """The one cell of blocks (state, owner, stored)."""
    state, owner, stored = zip(*blocks, strict=True)
    held = np.asarray(refs or [1 if who >= 0 else 0 for who in owner])
    cells = cells_of(np.array(state), np.array(owner), np.array(stored), held)
    model = GridModel(block_size=BLOCK, scale=Scale(1, 1, BLOCK * len(blocks)))
    return parts(int(model.codes(cells, copied)[0, 0]))


HELD, NEVER, FREE, HOLE, CACHED = Cell.HELD, Cell.NEVER, Cell.FREE, Cell.HOLE, Cell.CACHED
NOBODY = (FREE, -1, 0)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([(HELD, 3, 16)] * 4, (Kind.STORED, 8, 3)),
        ([(HELD, 3, 16)] * 3 + [(HELD, 3, 15)], (Kind.PART, 7, 3)),  # a little waste is always seen
        ([(HELD, 3, 1)] + [(HELD, 3, 0)] * 3, (Kind.PART, 1, 3)),  # and so is a little use
        ([(HELD, 3, 16)] * 2 + [NOBODY] * 2, (Kind.STORED, 4, 3)),
        ([(HELD, 3, 16)] * 2 + [(NEVER, 3, 0)] * 2, (Kind.PART, 4, 3)),
        ([(HELD, 3, 16)] + [(NEVER, 3, 0)] + [NOBODY] * 2, (Kind.STORED, 2, 3)),
        ([(HELD, 3, 0)] * 2 + [(NEVER, 3, 0)] * 2, (Kind.LATER, 0, 3)),
        ([(HELD, 3, 0)] + [(NEVER, 3, 0)] * 3, (Kind.NEVER, 0, 3)),
        ([(HOLE, -1, 0)] + [NOBODY] * 3, (Kind.HOLE, 0, 0)),
        ([(CACHED, -1, 16)] + [NOBODY] * 3, (Kind.CACHED, 0, 0)),
        ([NOBODY] * 4, (Kind.FREE, 0, 0)),
        ([(CACHED, -1, 16)] * 3 + [(HELD, 3, 16)], (Kind.STORED, 2, 3)),  # running tokens are never hidden
        ([(HELD, 3, 16)] + [(HELD, 5, 16)] * 3, (Kind.STORED, 8, 5)),
        ([(HELD, 5, 16)] * 2 + [(HELD, 3, 16)] * 2, (Kind.STORED, 8, 3)),  # a tie goes to the lower id
        ([(HELD, 3, 0)] * 3 + [(HELD, 5, 2)], (Kind.PART, 1, 5)),  # tokens count, not blocks
        ([(HELD, 3, 0)] * 3 + [(HELD, 5, 0)], (Kind.LATER, 0, 3)),  # unless there are none
    ],
)
def test_a_cell_of_four_blocks(blocks: list[tuple[Cell, int, int]], expected: tuple[Kind, int, int]) -> None:
    assert cell(*blocks) == expected


def test_a_cell_is_shared_when_half_of_its_blocks_are() -> None:
    blocks = [(HELD, 3, 16)] * 4
    assert cell(*blocks, refs=(2, 5, 1, 1)) == (Kind.SHARED, 5, 0)
    assert cell(*blocks, refs=(9, 1, 1, 1)) == (Kind.STORED, 8, 3)
    assert cell(*blocks, refs=(200, 2, 2, 2)) == (Kind.SHARED, MANY, 0)


def test_a_copied_block_is_seen_whatever_else_is_there() -> None:
    assert cell(*[(HELD, 3, 16)] * 4, refs=(2, 2, 2, 2), copied=(2,)) == (Kind.COPIED, 0, 0)


def test_beyond_the_pool_there_is_nothing() -> None:
    cells = cells_of(np.full(3, Cell.FREE), np.full(3, -1), np.zeros(3))
    codes = GridModel(block_size=BLOCK, scale=Scale(2, 2, BLOCK)).codes(cells)
    assert codes.tolist() == [[code(Kind.FREE)] * 2, [code(Kind.FREE), code(Kind.VOID)]]


def test_the_last_cell_of_a_pool_may_be_smaller_and_still_full() -> None:
    cells = cells_of(np.full(5, Cell.HELD), np.full(5, 1), np.full(5, 16))
    codes = GridModel(block_size=BLOCK, scale=Scale(2, 1, 4 * BLOCK)).codes(cells)
    assert [parts(int(value)) for value in codes[0]] == [(Kind.STORED, 8, 1)] * 2


def test_a_block_larger_than_a_cell_fills_its_cells_one_after_the_other() -> None:
    cells = cells_of(np.array([Cell.HELD, Cell.FREE]), np.array([1, -1]), np.array([40, 0]))
    codes = GridModel(block_size=128, scale=Scale(8, 2, BLOCK)).codes(cells)
    first = [parts(int(value)) for value in codes[0]]
    assert first[:2] == [(Kind.STORED, 8, 1)] * 2
    assert first[2] == (Kind.PART, 4, 1)
    assert first[3:] == [(Kind.LATER, 0, 1)] * 5
    assert set(codes[1].tolist()) == {code(Kind.FREE)}


def test_sizes_without_a_common_measure_still_share_a_scale() -> None:
    cells = cells_of(np.full(4, Cell.HELD), np.arange(4), np.full(4, 24))
    codes = GridModel(block_size=24, scale=Scale(6, 1, 16)).codes(cells)
    assert [parts(int(value)) for value in codes[0]] == [(Kind.STORED, 8, who) for who in (0, 0, 1, 2, 2, 3)]


def test_a_cell_may_hold_no_whole_number_of_slots() -> None:
    """Three cells are four blocks: 64/3 slots each, of which none is lost."""
    cells = cells_of(np.full(4, Cell.HELD), np.arange(4), np.array([16, 16, 16, 0]))
    scale, slots = Scale(3, 1, 64), Fraction(64, 3)
    codes = GridModel(block_size=BLOCK, scale=scale, slots=slots).codes(cells)
    drawn = [parts(int(value)) for value in codes[0]]
    assert drawn == [(Kind.STORED, 8, 0), (Kind.STORED, 8, 1), (Kind.PART, 2, 2)]


def test_identities() -> None:
    numbers = np.arange(100, dtype=np.int32)
    assert hues(numbers).tolist() == [hue_of(number) for number in range(100)]
    assert letters(numbers).tolist() == [number % 26 for number in range(100)]


@st.composite
def memories(draw: st.DrawFn) -> Cells:
    count = draw(st.integers(1, 60))
    state = draw(st.lists(st.sampled_from(list(Cell)), min_size=count, max_size=count))
    owned = [each in (Cell.HELD, Cell.NEVER) for each in state]
    owner = [draw(st.integers(0, 5)) if held else -1 for held in owned]
    stored = [
        draw(st.integers(0, 16)) if each is Cell.HELD else 16 if each is Cell.CACHED else 0 for each in state
    ]
    refs = [draw(st.integers(1, 12)) if each is Cell.HELD else 0 for each in state]
    return cells_of(np.array(state), np.array(owner), np.array(stored), np.array(refs))


def reference(cells: Cells, first: int, last: int) -> tuple[Kind, int, int]:
    """The rule, block by block."""
    blocks = range(first, min(last, len(cells.state)))
    state = [Cell(int(cells.state[at])) for at in blocks]
    shared = [int(cells.refs[at]) for at in blocks if cells.refs[at] > 1]
    if shared and 2 * len(shared) >= len(blocks):
        return Kind.SHARED, min(max(shared), MANY), 0
    held = [at for at in blocks if cells.state[at] in (Cell.HELD, Cell.NEVER)]
    stored = sum(int(cells.stored[at]) for at in held)
    if not held:
        order = ((Cell.HOLE, Kind.HOLE), (Cell.CACHED, Kind.CACHED))
        return next((kind for which, kind in order if which in state), Kind.FREE), 0, 0
    weight: dict[int, int] = {}
    for at in held:
        owner = int(cells.owner[at])
        weight[owner] = weight.get(owner, 0) + (int(cells.stored[at]) if stored else 16)
    who = hue_of(min(weight, key=lambda owner: (-weight[owner], owner)))
    if not stored:
        never = state.count(Cell.NEVER)
        return (Kind.NEVER if 2 * never > len(held) else Kind.LATER), 0, who
    capacity = 16 * len(blocks)
    eighths = 8 if stored == capacity else min(7, max(1, int(8 * stored / capacity + 0.5)))
    empty = 16 * len(held) - stored
    part = stored < capacity and 2 * empty >= capacity - stored
    return (Kind.PART if part else Kind.STORED), eighths, who


@settings(deadline=None)
@given(memories(), st.sampled_from([1, 2, 4, 8]))
def test_any_memory_is_drawn_by_the_rule(cells: Cells, per_cell: int) -> None:
    model = GridModel(block_size=BLOCK, scale=Scale(60, 1, per_cell * BLOCK))
    drawn = [parts(int(value)) for value in model.codes(cells)[0]]
    count = -(-len(cells.state) // per_cell)
    assert drawn[:count] == [reference(cells, at * per_cell, (at + 1) * per_cell) for at in range(count)]
    assert {kind for kind, _, _ in drawn[count:]} <= {Kind.VOID}


@settings(deadline=None)
@given(st.lists(memories(), min_size=2, max_size=5), st.sampled_from([1, 4]))
def test_working_out_only_what_changed_makes_no_difference(frames: list[Cells], per_cell: int) -> None:
    size = min(len(frame.state) for frame in frames)
    scale = Scale(60, 1, per_cell * BLOCK)
    model = GridModel(block_size=BLOCK, scale=scale)
    for frame in frames:
        same_size = Cells(frame.state[:size], frame.owner[:size], frame.stored[:size], frame.refs[:size])
        fresh = GridModel(block_size=BLOCK, scale=scale).codes(same_size)
        assert (model.codes(same_size) == fresh).all()


@settings(deadline=None)
@given(
    st.lists(memories(), min_size=1, max_size=4),
    st.sampled_from([1, 2, Fraction(3, 2), Fraction(1, 4)]),
    st.integers(0, 12),
)
def test_a_part_of_the_pool_is_cut_out_of_the_whole(frames: list[Cells], blocks: Fraction, top: int) -> None:
    size, slots = min(len(frame.state) for frame in frames), Fraction(blocks * BLOCK)
    whole = GridModel(block_size=BLOCK, scale=Scale(5, 60, BLOCK), slots=slots)
    part = GridModel(block_size=BLOCK, scale=Scale(5, 3, BLOCK, top=top), slots=slots)
    for frame in frames:
        cells = Cells(frame.state[:size], frame.owner[:size], frame.stored[:size], frame.refs[:size])
        copied = (0, size - 1) if frame is frames[0] else ()
        assert (part.codes(cells, copied) == whole.codes(cells, copied)[top : top + 3]).all()
