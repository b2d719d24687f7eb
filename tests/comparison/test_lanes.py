"""What `--lane` can say."""

from __future__ import annotations

import pytest

from kvtui.comparison.lanes import LaneSpec, named
from kvtui.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("paged", LaneSpec("paged")),
        ("paged:32", LaneSpec("paged", block_size=32)),
        ("paged:block_size=8,prefix_cache=off", LaneSpec("paged", block_size=8, prefix_cache=False)),
        ("paged:kv_dtype=fp8,name=small", LaneSpec("paged", name="small", kv_dtype="fp8")),
        ("contiguous:pow2", LaneSpec("contiguous", reserve="pow2")),
        ("contiguous:exact,buddy", LaneSpec("contiguous", reserve="exact", placement="buddy")),
        ("contiguous:reserve=max", LaneSpec("contiguous")),
    ],
)
def test_parse_and_back(text: str, spec: LaneSpec) -> None:
    assert LaneSpec.parse(text) == spec
    assert LaneSpec.parse(spec.options) == spec


@pytest.mark.parametrize(
    "text",
    [
        "",
        "page",
        "paged:reserve=max",
        "paged:kv_dtype=int3",
        "paged:prefix_cache=maybe",
        "contiguous:8x",
        "paged:name=a\x1bb",
    ],
)
def test_nonsense(text: str) -> None:
    with pytest.raises(ConfigError):
        LaneSpec.parse(text)


def test_what_the_text_does_not_say_is_as_in_the_default() -> None:
    default = LaneSpec("", block_size=32)
    assert LaneSpec.parse("paged:prefix_cache=off", default=default).block_size == 32
    assert LaneSpec.parse("paged:8", default=default).block_size == 8


@pytest.mark.parametrize(
    ("lanes", "names"),
    [
        ("contiguous paged", ["contiguous", "paged"]),
        ("paged paged:8 paged:name=x", ["paged-16", "paged-8", "x"]),
        ("contiguous contiguous:pow2 paged", ["contig-max", "contig-pow2", "paged"]),
        ("paged paged paged:kv_dtype=fp8", ["paged-16", "paged-16-2", "paged-16-fp8"]),
    ],
)
def test_lanes_of_one_manager_are_told_apart(lanes: str, names: list[str]) -> None:
    assert [lane.name for lane in named(tuple(map(LaneSpec.parse, lanes.split())))] == names
