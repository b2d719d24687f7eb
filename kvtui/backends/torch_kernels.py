"""Kernels that read K/V through the block table, where one is installed, and the probe that chooses.

No table of versions: each is tried on a small batch and compared with gather and SDPA; the first that agrees
is taken. Whatever it raises, or reads wrongly, it is not taken, and the default always works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kvtui.backends.batch import VOCABULARY, Batch
from kvtui.backends.torch_attention import Attention, OnDevice

if TYPE_CHECKING:
    import torch

    from kvtui.backends.torch_lane import TorchLane

WORKSPACE = 128 << 20  # bytes, what FlashInfer's documentation asks for
AGREES = 1e-1  # largest difference from the default in 16 bits; a wrong read makes several times that
LEAST_UNITS = 12  # that the probe needs
LONG = 640  # tokens of the probe's longest context: kernels split what is longer than 512
LARGE = 1e3  # in slots that nothing was written to: a number, for kernels read past the end of a page
FLASH = ("FA4", "FA3")  # implementations that torch can switch to, newest first


class Varlen:
    """torch's own `varlen_attn` with a block table."""

    name = "varlen_attn"
    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, lane: TorchLane) -> None:
        from torch.nn.attention.varlen import varlen_attn

        _switch_on_newer()
        self._call = varlen_attn
        self._pool = lane.pool
        self._batch: OnDevice | None = None

    def prepare(self, batch: OnDevice) -> None:
        self._batch = batch

    def attend(self, layer: int, q: torch.Tensor) -> torch.Tensor:
        batch = self._batch
        assert batch is not None
        result: torch.Tensor = self._call(
            q,
            self._pool.k[layer],
            self._pool.v[layer],
            batch.offsets,
            None,
            int(batch.host.counts.max()),
            int(batch.host.contexts.max()),
            window_size=(_back(batch), 0),
            enable_gqa=True,
            seqused_k=batch.contexts,
            block_table=batch.tables,
            **self.options,
        )
        return result


class Unsplit(Varlen):
    """The same, one context after the other: slower where there are few requests, but right where parts of
    long contexts are put together wrongly."""

    name = "varlen_attn, unsplit"
    options: ClassVar[dict[str, Any]] = {"num_splits": 1}


class FlashAttention:
    """`flash_attn_varlen_func` of the flash-attn package; its pages have 256 tokens or a multiple."""

    name = "flash-attn"

    def __init__(self, lane: TorchLane) -> None:
        self._call = import_module("flash_attn").flash_attn_varlen_func
        self._pool = lane.pool
        self._batch: OnDevice | None = None
        self._ends: torch.Tensor | None = None

    def prepare(self, batch: OnDevice) -> None:
        self._batch = batch
        self._ends = batch.contexts.new_zeros(len(batch.contexts) + 1)
        self._ends[1:] = batch.contexts.cumsum(0)

    def attend(self, layer: int, q: torch.Tensor) -> torch.Tensor:
        batch = self._batch
        assert batch is not None
        result: torch.Tensor = self._call(
            q,
            self._pool.k[layer],
            self._pool.v[layer],
            cu_seqlens_q=batch.offsets,
            cu_seqlens_k=self._ends,
            max_seqlen_q=int(batch.host.counts.max()),
            max_seqlen_k=int(batch.host.contexts.max()),
            causal=True,
            window_size=(_back(batch), 0),
            block_table=batch.tables,
        )
        return result


class FlashInfer:
    """FlashInfer's paged prefill, which takes decodes as prompts of one token."""

    name = "FlashInfer"

    def __init__(self, lane: TorchLane) -> None:
        import torch

        flashinfer = import_module("flashinfer")
        self._pool = lane.pool
        self._shape = lane.decoder.shape
        space = torch.empty(WORKSPACE, dtype=torch.uint8, device=lane.device.device)
        self._wrapper: Any = flashinfer.BatchPrefillWithPagedKVCacheWrapper(space, "NHD")

    def prepare(self, batch: OnDevice) -> None:
        import torch

        host, shape = batch.host, self._shape
        pages = -(-host.contexts // host.unit)
        ends = np.concatenate([[0], np.cumsum(pages)])
        used = np.concatenate([row[:n] for row, n in zip(host.tables, pages, strict=True)])
        last = host.contexts - (pages - 1) * host.unit
        whole = [torch.as_tensor(x, dtype=torch.int32) for x in (host.offsets, ends, used, last)]
        self._wrapper.plan(
            *(x.to(batch.tables.device) for x in whole),
            shape.heads,
            shape.kv_heads,
            shape.key_dim,
            host.unit,
            causal=True,
            window_left=_back(batch),
            q_data_type=self._pool.k.dtype,
            kv_data_type=self._pool.k.dtype,
        )

    def attend(self, layer: int, q: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self._wrapper.run(q, (self._pool.k[layer], self._pool.v[layer]))
        return result


def _back(batch: OnDevice) -> int:
    """Tokens before its own that a query sees, as kernels count; -1 = all."""
    return -1 if batch.host.window is None else batch.host.window - 1


KERNELS: tuple[Callable[[TorchLane], Attention], ...] = (Varlen, Unsplit, FlashInfer, FlashAttention)


def choose(lane: TorchLane) -> None:
    """Let a lane that has not run yet use the first kernel that agrees with what it uses now."""
    if suits(lane):
        lane.attention = next((k for _, k in probed(lane) if not isinstance(k, str)), lane.attention)


def suits(lane: TorchLane) -> bool:
    """Whether any kernel could be of use: there is none for a CPU, for latents, for K/V that is stored in
    another type than it is computed in, or for tiny blocks."""
    tiny = lane.pool.unit < 8 or lane.pool.units < LEAST_UNITS * len(lane.planes)
    return not (lane.device.on_cpu or lane.decoder.shape.latent or tiny) and lane.pool.kind.same


def probed(lane: TorchLane) -> Iterator[tuple[str, Attention | str]]:
    """Every kernel by name: ready to use, or why it is not taken. Tried one after the other, as asked for; a
    device that fails at the default raises RuntimeError."""
    default, before = lane.attention, _implementation()
    wanted = _outcome(lane, default)
    for make in KERNELS:
        try:
            kernel = make(lane)
            apart = float((_outcome(lane, kernel) - wanted).abs().max())
        except Exception as error:  # a kernel may raise whatever it likes: then it is not used
            verdict: Attention | str = " ".join(str(error).split())[:120] or type(error).__name__
        else:
            verdict = kernel if apart <= AGREES else f"differs by {apart:.2g}"
        finally:
            lane.attention = default
        if isinstance(verdict, str) and _implementation() != before:
            _restore()  # what was switched to for this kernel alone
        yield str(getattr(make, "name", make)), verdict


def _outcome(lane: TorchLane, attention: Attention) -> torch.Tensor:
    """What a few requests come to, in two steps, on units that nobody owns yet. What a kernel must not read
    is spoilt: to no number where lanes are verified, which fill fresh units so, else to large ones; what
    falls out of a window, to large ones."""
    import torch

    from kvtui.backends.torch_clock import Stopwatch

    pool, (prompts, decodes) = lane.pool, _steps(lane)
    used = max(int(view.tables.max()) for view in prompts.views) + 1
    lane.attention = attention
    with torch.inference_mode():
        pool.spoil(1, used, None if pool.poison else LARGE)
        streams = [lane.forward(prompts, Stopwatch(lane.device))]
        for view in decodes.views:
            for unit in view.tables[0, : int(view.first[0]) // view.unit].tolist():
                pool.spoil(unit, unit + 1, LARGE)
        streams.append(lane.forward(decodes, Stopwatch(lane.device)))
        pool.wipe(0, used)
        return torch.cat(streams)


def _steps(lane: TorchLane) -> tuple[Batch, Batch]:
    """Prompts of four requests, the first of them long: beyond 512 tokens and every window, as far as the
    pool goes. Then a token or a few more of each. Layers of each window have tables of their own, which run
    backwards."""
    unit, windows = lane.pool.unit, [plane.window for plane in lane.planes]
    short = np.array([unit // 2 + 1, unit + unit // 2, 1], np.int64)
    wanted = max([LONG, *(window + 2 * unit for window in windows if window)])
    each = (lane.pool.units - 1) // len(windows)
    most = min((each - 2 * len(short)) * unit, lane.room.tokens) - unit
    before = np.concatenate([[max(min(wanted, most), 1)], short])
    more = np.array([1, 2, 1, 3], np.int64)
    table = _backwards(-(-(before + more) // unit))
    tables = [np.where(table, table + n * int(table.max()), 0).astype(np.int32) for n in range(len(windows))]
    ids = np.arange(int((before + more).sum()), dtype=np.int32) % VOCABULARY

    def step(starts: np.ndarray, counts: np.ndarray, ids: np.ndarray) -> Batch:
        seen = zip(tables, windows, strict=True)
        first, *further = (Batch((), starts, counts, own, ids, unit, window) for own, window in seen)
        return replace(first, further=tuple(further))

    computed = int(before.sum())
    return step(np.zeros_like(before), before, ids[:computed]), step(before, more, ids[computed:])


def _backwards(pages: np.ndarray) -> np.ndarray:
    """A table of so many pages for each request, all of them different, counted from 1."""
    table = np.zeros((len(pages), int(pages.max())), np.int32)
    for row, (n, end) in enumerate(zip(pages.tolist(), np.cumsum(pages).tolist(), strict=True)):
        table[row, :n] = np.arange(end, end - n, -1)
    return table


def _switch_on_newer() -> None:
    """Let torch use a FlashAttention that can read through tables, where such a package is installed."""
    from torch.nn import attention

    for name in FLASH if _implementation() is None else ():
        try:
            attention.activate_flash_attention_impl(name)
        except Exception:  # not installed, or not for this device; the default stays
            continue
        return


def _implementation() -> str | None:
    """The FlashAttention that torch was switched to; None = its own."""
    from torch.nn import attention

    current = getattr(attention, "current_flash_attention_impl", None)
    return None if current is None else current()


def _restore() -> None:
    from torch.nn import attention

    attention.restore_flash_attention_impl()
