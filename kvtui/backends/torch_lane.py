"""One lane's steps, carried out: ops replayed, K/V written, attention read back through the block tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from kvtui.backends.batch import Batch, TokenIds, batch_of
from kvtui.backends.ghost import Contents
from kvtui.backends.torch_attention import Attention, GatherAttention, OnDevice
from kvtui.backends.torch_clock import Stopwatch
from kvtui.backends.torch_device import Device, told
from kvtui.backends.torch_gemm import Products
from kvtui.backends.torch_model import Decoder
from kvtui.backends.torch_pool import Shape, TensorPool
from kvtui.backends.torch_verify import Verifier
from kvtui.memory.ops import OpLog
from kvtui.memory.protocol import MemoryManager
from kvtui.serving.engine import Engine
from kvtui.serving.plan import Plan
from kvtui.serving.request import Request
from kvtui.units import picoseconds

if TYPE_CHECKING:
    import torch

WARM_UP = 3  # steps done before the first that counts
MODEL, POISON = "model", "poison"  # parts of a step that are not memory's: no real model, and a check
NOT_COUNTED = (MODEL, POISON)
LEAST_PS = 1  # a step that does nothing takes time all the same
Watching = Callable[[Plan, Batch, dict[str, float]], None]


def room_for(manager: MemoryManager, longest: int) -> int:
    """Tokens that the buffers of the gather hold: a quarter of the pool, and the longest request."""
    slots = manager.blocks * manager.block_size
    return max(slots // 4, min(longest, slots), 1)


class TorchLane:
    """Real K/V for one manager. `verify` = every so many steps all that was computed is checked, 0 = never.

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
        longest: int,
        verify: int = 0,
    ) -> None:
        self.device = device
        self.decoder = Decoder(device, shape, layers=layers)
        self.tokens = TokenIds(truth)
        self._base = 1 if manager.reserves else 0
        with told(device.label):
            self.pool = TensorPool(
                device,
                shape,
                layers=layers,
                units=manager.blocks,
                unit=manager.block_size,
                poison=bool(verify),
            )
            gather = GatherAttention(device, self.pool, shape, room=room_for(manager, longest))
            self.attention: Attention = gather
            self.buffer_bytes = gather.bytes
            self._room = gather.room
        self.verifier = Verifier(self.decoder, device, self.pool, self.tokens) if verify else None
        self.products: Products | None = None  # of the model, where they are carried out as well
        self.watching: Watching | None = None
        self.parts: dict[str, float] = {}  # seconds by part of a step, all steps together
        self._every = verify
        self._log = manager.log = OpLog()

    # ---- steps

    def duration(self, engine: Engine, plan: Plan) -> int:
        """Carry the step out; gives what it took in ps."""
        import torch

        batch = batch_of(engine, plan, self.tokens)
        with told(self.device.label), torch.inference_mode():
            watch = Stopwatch(self.device)
            copied = self.pool.replay(self._log.drain(), base=self._base)
            watch.mark("copy" if copied or not self.pool.poison else POISON)
            stream = None if batch is None else self.forward(batch, watch)
            parts = watch.parts()
            if batch is not None and stream is not None:
                self._verify(plan, batch, stream)
        counted = {name: seconds for name, seconds in parts.items() if name not in NOT_COUNTED}
        for name, seconds in counted.items():
            self.parts[name] = self.parts.get(name, 0.0) + seconds
        if batch is not None and self.watching is not None:
            self.watching(plan, batch, counted)
        return max(picoseconds(sum(counted.values())), LEAST_PS)

    def forward(self, batch: Batch, watch: Stopwatch) -> torch.Tensor:
        """The stream [T, width] behind the last layer; its K/V is stored on the way."""
        here = self._to_device(batch)
        decoder, attention = self.decoder, self.attention
        attention.prepare(here)
        watch.mark("tables")
        stream = decoder.embed(here.ids)
        for layer in range(decoder.layers):
            q, k, v = decoder.qkv(layer, stream, here.positions)
            watch.mark(MODEL)
            self.pool.write(layer, here.slots, k, v)
            watch.mark("write")
            read = attention.attend(layer, q)
            watch.mark("attention")
            stream = decoder.absorb(layer, stream, read)
            watch.mark(MODEL)
            if self.products is not None:
                self.products.layer(len(batch.ids))
                watch.mark("gemm")
        if self.products is not None:
            self.products.vocabulary(len(batch.counts))
            watch.mark("gemm")
        return stream

    def warm_up(self, engine: Engine) -> None:
        """A few steps that nobody counts, on memory that nobody owns: kernels are loaded, buffers touched."""
        import torch

        unit, slots = self.pool.unit, engine.manager.blocks * engine.manager.block_size
        context = min(slots, self._room, 8 * unit)
        tables = np.zeros((2, -(-context // unit)), np.int32)
        starts = np.array([0, context - 1], np.int64)
        counts = np.array([context, 1], np.int64)
        batch = Batch((), starts, counts, tables, np.zeros(context + 1, np.int32), unit)
        with told(self.device.label), torch.inference_mode():
            for _ in range(WARM_UP):
                self.forward(batch, Stopwatch(self.device))
            self.pool.k[:, 0].zero_()
            self.pool.v[:, 0].zero_()
            self.device.synchronize()

    def _verify(self, plan: Plan, batch: Batch, stream: torch.Tensor) -> None:
        if self.verifier is not None and plan.step % self._every == 0:
            self.verifier.check(batch, stream)

    def _to_device(self, batch: Batch) -> OnDevice:
        import torch

        device = self.device.device

        def there(values: object, kind: torch.dtype) -> torch.Tensor:
            result: torch.Tensor = torch.as_tensor(values, dtype=kind)
            if self.device.kind == "cuda":
                result = result.pin_memory()
            return result.to(device, non_blocking=True)

        return OnDevice(
            there(batch.ids, torch.int64),
            there(batch.positions, torch.int64),
            there(batch.slots, torch.int64),
            there(batch.tables, torch.int32),
            there(batch.contexts, torch.int32),
            there(batch.offsets, torch.int32),
            batch,
        )
