"""What a run says of its drafter: what of its memory and time is counted, and what is not."""

from __future__ import annotations

from collections.abc import Iterator

from kvtui.hardware.catalogue import ModelSpec


def assumed_of_drafter(
    method: str | None, drafter: ModelSpec | None, *, tokens: int, memory_left_out: bool
) -> Iterator[str]:
    """`memory_left_out`: the pool was sized without its memory."""
    if method is None:
        return
    if drafter is not None:
        passes = "1 pass" if tokens == 1 else f"{tokens} passes"
        yield f"{drafter.label} drafts: its K and V lie in the same blocks"
        yield f"time of the drafter: {passes} of it a step as the model of step times has them, not measured"
    elif method != "ngram":
        yield f"time of the drafter ({method}) is not counted: steps take longer than this (--spec-model)"
    if memory_left_out:
        yield (
            f"memory of the drafter ({method}: its weights, K and V of its layers) is not counted: there are "
            "fewer blocks than this"
        )
