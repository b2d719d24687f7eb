"""What `--lane` can say."""

from __future__ import annotations

import pytest

from kvtui.errors import ConfigError
from kvtui.lanes import LaneSpec, named


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
    ["", "page", "paged:reserve=max", "paged:kv_dtype=int3", "paged:prefix_cache=maybe", "contiguous:8x"],
)
def test_nonsense(text: str) -> None:
    with pytest.raises(ConfigError):
        LaneSpec.parse(text)


def test_what_the_text_does_not_say_is_as_in_the_default() -> None:
    default = LaneSpec("", block_size=32)
    assert LaneSpec.parse("paged:prefix_cache=off", default=default).block_size == 32
    assert LaneSpec.parse("paged:8", default=default).block_size == 8


def test_equal_names_get_a_number() -> None:
    lanes = named((LaneSpec("paged"), LaneSpec("paged", block_size=8), LaneSpec("paged", name="x")))
    assert [lane.name for lane in lanes] == ["paged", "paged-2", "x"]
