"""The link between GPU and host memory: what it takes to move KV blocks over it."""

from __future__ import annotations

from dataclasses import dataclass

from kvtui.units import PS_PER_S

COPY_S = 10e-6  # of one asynchronous copy, whatever its size: launch and set-up
PARTS = 2  # K and V of a layer lie in different places


@dataclass(frozen=True, slots=True)
class Link:
    """Copies of blocks, each in `copies` pieces (K and V of every layer), one piece after the other.

    Small blocks are small pieces: the fixed price of a copy is what they cost then. With `overlap` the copies
    run beside the step and only what takes longer than it shows; without, the step waits for them.
    """

    block_bytes: int
    copies: int  # pieces a block
    bandwidth: float  # bytes a second, one way
    overlap: bool = False
    copy_s: float = COPY_S

    @classmethod
    def of(
        cls, *, layers: int, block_bytes: int, bandwidth: float, overlap: bool = False, copy_s: float = COPY_S
    ) -> Link:
        """A model with `layers` layers of K and V."""
        return cls(block_bytes, PARTS * layers, bandwidth, overlap, copy_s)

    def seconds(self, blocks: int) -> float:
        """Time to move so many blocks one way."""
        return blocks * (self.copies * self.copy_s + self.block_bytes / self.bandwidth)

    def step(self, step_ps: int, blocks: int) -> int:
        """Time of a step of `step_ps` that moves so many blocks, in ps."""
        moving = round(self.seconds(blocks) * PS_PER_S)
        return max(step_ps, moving) if self.overlap else step_ps + moving
