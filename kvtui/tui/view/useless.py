"""Keys that can do nothing with what is shown: neither the footer nor the help speaks of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kvtui.frames.counts import LaneInfo

CHANGING: Final = ("manager", "block_size", "settings", "add_lane", "remove_lane", "branch", "make_baseline")
GOING_ON: Final = ("next_event", "previous_event", "slower", "faster", "restart")
OF_REQUESTS: Final = (
    *("inspect", "next_request", "next_block", "close", "filter", "page"),
    *("next_event", "previous_event"),
)
COMPARING: Final = ("summary",)


def useless(lanes: Sequence[LaneInfo], *, fixed: bool, live: bool) -> frozenset[str]:
    """Their actions. `fixed`: whether nothing can be changed, `live`: whether time goes on by itself."""
    return frozenset(
        (*CHANGING,) * fixed
        + (*GOING_ON,) * live
        + (*OF_REQUESTS,) * (not any(map(tells, lanes)))
        + (*COMPARING,) * (lanes[0].label == "live")
    )


def tells(lane: LaneInfo) -> bool:
    """Whether anything is known of single requests: of servers, only of those that publish their slots."""
    return lane.label != "live" or lane.region_blocks is not None


def does(action: str) -> str:
    """The name of an action without what it is done to."""
    return action.partition("(")[0]
