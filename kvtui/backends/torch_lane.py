"""One lane's steps, carried out: ops replayed, K/V written, attention read back through the block tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kvtui.backends.batch import Batch, TokenIds
from kvtui.backends.batch_rows import BatchRows
from kvtui.backends.ghost import Contents, Ghost, Mismatch, Remembered, Stories
from kvtui.backends.torch_attention import Attention, GatherAttention, OnDevice
from kvtui.backends.torch_clock import Stopwatch
from kvtui.backends.torch_device import Device, told
from kvtui.backends.torch_gemm import Products
from kvtui.backends.torch_kvtypes import KvType
from kvtui.backends.torch_model import Decoder
from kvtui.backends.torch_planes import NO_WINDOW, Windows, planes_of
from kvtui.backends.torch_pool import POISON, Shape, TensorPool
from kvtui.backends.torch_sent import Sent
from kvtui.backends.torch_verify import Verifier
from kvtui.memory.ops import Op, OpLog
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.units import picoseconds

if TYPE_CHECKING:
    import torch

WARM_UP = 3  # steps done before the first that counts
MODEL = "model"
NOT_COUNTED = (MODEL, POISON)  # parts of a step that are not memory's: no real model, and a check
LEAST_PS = 1  # a step that does nothing takes time all the same
Watching = Callable[[Plan, Batch, dict[str, float]], None]


def room_for(manager: MemoryManager, longest: int) -> int:
    """Tokens that the buffers of the gather hold: a quarter of the pool, and the longest request."""
    slots = manager.blocks * manager.block_size
    return max(slots // 4, min(longest, slots), 1)


class TorchLane:
    """Real K/V for one manager: `layers` layers for each of `windows`, stored as `kv_dtype`. `verify` = every
    so many steps all that was computed is checked, 0 = never.

    An engine's `StepClock`: a step takes the time of tables, copies, writes and attention on the device.
    """

    def __init__(
        self,
        manager: MemoryManager,
        device: Device,
        shape: Shape,
        truth: Callable[[Request], Contents],
        *,
        layers: int = 1,
        windows: Windows = NO_WINDOW,
        kv_dtype: str = "auto",
        longest: int,
        verify: int = 0,
    ) -> None:
        self.device = device
        self.planes = planes_of(manager, windows, layers)
        self.decoder = Decoder(device, shape, layers=layers * len(windows))
        self.tokens = TokenIds(truth)
        self._base = 1 if manager.reserves else 0
        kind = KvType(kv_dtype, device)
        with told(device.label):
            self.pool = TensorPool(
                device,
                shape,
                kind,
                layers=self.planes[-1].at + layers,
                units=manager.blocks,
                unit=manager.block_size,
                poison=bool(verify),
            )
            gather = GatherAttention(device, self.pool, room=room_for(manager, longest))
        self.attention: Attention = gather
        self.room = gather.room
        self.verifier: Verifier | None = None
        self.ghost: Ghost | None = None  # follows every step on the host
        if verify:
            self.ghost = Ghost(manager, truth if isinstance(truth, Stories) else Remembered(truth))
            self.verifier = Verifier(self.decoder, device, self.pool, self.tokens, self.planes)
        self.products: Products | None = None  # of the model, where they are carried out as well
        self.watching: Watching | None = None
        self.parts: dict[str, float] = {}  # seconds by part of a step, all steps together
        self._every = verify
        self._before: Plan | None = None  # the last step that was carried out
        self._rows = BatchRows(base=self._base)
        self._sent = Sent(device)
        self._log = manager.log = OpLog()

    @property
    def buffer_bytes(self) -> int:
        """What is taken beside the pool."""
        return self.room.bytes

    @property
    def seconds(self) -> dict[str, float]:
        """`parts` as they are now, to be read while another thread carries steps out."""
        return dict(self.parts)

    # ---- steps

    def duration(self, engine: Engine, plan: Plan) -> int:
        """Carry the step out; gives what it took in ps."""
        import torch

        if self._before is not None:
            self.tokens.settled(self._before)
        self._before = plan
        batch, ops = self._rows.batch(engine, plan, self.tokens), self._log.drain()
        with told(self.device.label), torch.inference_mode():
            self.pool.prepare(ops)
            watch = Stopwatch(self.device)
            self.pool.replay(ops, base=self._base, watch=watch)
            stream = None if batch is None else self.forward(batch, watch)
            parts = watch.parts()
            if batch is not None and stream is not None:
                self._verify(plan, batch, stream)
            self._follow(engine, plan, ops)
        counted = {name: seconds for name, seconds in parts.items() if name not in NOT_COUNTED}
        for name, seconds in counted.items():
            self.parts[name] = self.parts.get(name, 0.0) + seconds
        if batch is not None and self.watching is not None:
            self.watching(plan, batch, counted)
        return max(picoseconds(sum(counted.values())), LEAST_PS)

    def forward(self, batch: Batch, watch: Stopwatch) -> torch.Tensor:
        """The stream [T, width] behind the last layer; its K/V is stored on the way."""
        views = self._sent.seen(batch, self.planes)
        stream = self.decoder.embed(views[0].ids)
        for plane, seen in zip(self.planes, views, strict=True):
            self.attention.prepare(seen)
            watch.mark("tables")
            for layer in plane.layers:
                stream = self._through(layer, plane.place(layer), stream, seen, watch)
                if self.products is not None:
                    self.products.layer(len(batch.ids))
                    watch.mark("gemm")
        if self.products is not None:
            self.products.vocabulary(len(batch.counts))
            watch.mark("vocabulary")
        return stream

    def _through(
        self, layer: int, place: int, stream: torch.Tensor, seen: OnDevice, watch: Stopwatch
    ) -> torch.Tensor:
        """The stream behind a layer, whose K/V lies at `place` of the pool."""
        q, k, v = self.decoder.qkv(layer, stream, seen.positions)
        watch.mark(MODEL)
        self.pool.write(place, seen.slots, k, v)
        del k, v
        watch.mark("write")
        read = self.attention.attend(place, q)
        watch.mark("attention")
        stream = self.decoder.absorb(layer, stream, read)
        watch.mark(MODEL)
        return stream

    def warm_up(self, engine: Engine) -> None:
        """A few steps that nobody counts, on memory that nobody owns: kernels are loaded, buffers touched."""
        import torch

        unit, slots = self.pool.unit, engine.manager.blocks * engine.manager.block_size
        context = min(slots, self.room.tokens, 8 * unit)
        tables = np.zeros((2, -(-context // unit)), np.int32)
        starts = np.array([0, context - 1], np.int64)
        counts = np.array([context, 1], np.int64)
        batch = Batch((), starts, counts, tables, np.zeros(context + 1, np.int32), unit)
        with told(self.device.label), torch.inference_mode():
            for _ in range(WARM_UP):
                self.forward(batch, Stopwatch(self.device))
            self.pool.wipe(0, 1)
            self.device.synchronize()

    def _follow(self, engine: Engine, plan: Plan, ops: list[Op]) -> None:
        """What each slot should hold is exact and costs little: it is compared in every step."""
        if self.ghost is None or self.verifier is None:
            return
        self.ghost.pool.replay(ops)
        try:
            self.ghost.step(engine, plan)
        except Mismatch as wrong:
            self.verifier.fail(f"by block tables alone, {wrong}")

    def _verify(self, plan: Plan, batch: Batch, stream: torch.Tensor) -> None:
        if self.verifier is not None and plan.step % self._every == 0:
            self.verifier.check(batch, stream)
