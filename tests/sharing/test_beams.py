"""Which beams go on: what holds whatever is drawn, and how often beams merge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvtui.groups.beams import BeamTree

LENGTHS = range(2, 40)


@given(number=st.integers(0, 10**6), width=st.integers(1, 8), gap=st.sampled_from([0.1, 1.0, 10.0]))
def test_who_lives_on_keeps_the_place_and_the_story_is_one(number: int, width: int, gap: float) -> None:
    one, again = (BeamTree(number, width, gap=gap) for _ in range(2))
    for length in LENGTHS:
        parents = one.parents(length)
        assert parents == again.parents(length)
        assert len(parents) == width
        assert all(parents[parent] == parent for parent in parents)


def test_further_continuations_decide_how_bushy_the_tree_is() -> None:
    for number in range(50):
        dear, free = BeamTree(number, 4, gap=1e9), BeamTree(number, 4, gap=0.0)
        for length in LENGTHS:
            assert dear.parents(length) == [0, 1, 2, 3], "nobody has a second heir"
            assert len(set(free.parents(length))) == 1, "the best has them all"


def test_two_beams_become_one_as_often_as_reckoned() -> None:
    """Both go on from one beam when three exponential costs come before two: 5 / 16 for each of them."""
    merged = sum(len(set(BeamTree(number, 2).parents(2))) == 1 for number in range(10_000))
    assert abs(merged / 10_000 - 2 * 5 / 16) < 0.015


def test_requests_differ() -> None:
    stories = {tuple(BeamTree(number, 4).parents(length)) for number in range(20) for length in (2, 3)}
    assert len(stories) > 5


def test_a_search_is_the_same_in_every_version() -> None:
    """Recordings hold what was drawn; a lane that is played again has to branch as it did."""
    tree, other = BeamTree(7, 4), BeamTree(123_456, 3, gap=0.2)
    story = [[0, 1, 3, 3], [0, 0, 3, 3], [0, 0, 2, 0], [2, 1, 2, 2], [0, 2, 2, 3], [0, 2, 2, 3], [0, 2, 2, 2]]
    assert [tree.parents(length) for length in range(2, 9)] == story
    story = [[2, 2, 2], [2, 1, 2], [0, 0, 0], [0, 0, 2], [0, 0, 0], [0, 0, 0], [1, 1, 1]]
    assert [other.parents(length) for length in range(2, 9)] == story


def test_a_long_search_goes_on_as_it_began() -> None:
    tree = BeamTree(3, 4)
    stories = [tuple(tree.parents(length)) for length in range(2, 1202)]
    first, last = (len(set(part)) for part in (stories[:100], stories[-100:]))
    assert first > 20
    assert abs(first - last) < first // 3
