"""Kernels that read K/V through the block table, where one is installed, and the probe that chooses.

No table of versions: each is tried on a small batch and compared with gather and SDPA; the first that agrees
is taken. Whatever it raises, or reads wrongly, it is not taken, and the default always works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtui.backends.torch_attention import Attention, OnDevice

if TYPE_CHECKING:
    import torch

    from kvtui.backends.torch_lane import TorchLane

WORKSPACE = 128 << 20  # bytes, what FlashInfer's documentation asks for
AGREES = 1e-1  # largest difference from the default in 16 bits; a wrong read makes several times that
FLASH = ("FA4", "FA3")  # implementations that torch can switch to, newest first


class Varlen:
    """torch's own `varlen_attn` with a block table."""

    name = "varlen_attn"

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
        )
        return result


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


KERNELS: tuple[Callable[[TorchLane], Attention], ...] = (Varlen, FlashInfer, FlashAttention)


def choose(lane: TorchLane) -> None:
    """Let a lane that has not run yet use the first kernel that agrees with what it uses now."""
    if suits(lane):
        lane.attention = next((k for _, k in probed(lane) if not isinstance(k, str)), lane.attention)


def suits(lane: TorchLane) -> bool:
    """Whether any kernel could be of use: there is none for a CPU, for latents, for K/V that is stored in
    another type than it is computed in, or for tiny blocks."""
    tiny = lane.pool.unit < 8 or lane.pool.k.shape[1] < 4
    return not (lane.device.on_cpu or lane.decoder.shape.latent or tiny) and lane.pool.kind.same


def probed(lane: TorchLane) -> Iterator[tuple[str, Attention | str]]:
    """Every kernel by name: ready to use, or why it is not taken. Tried one after the other, as asked for."""
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
    """What two requests come to, in two steps, on units that nobody owns yet; all else in these is no number,
    and the second table runs backwards."""
    import torch

    from kvtui.backends.batch import Batch
    from kvtui.backends.torch_clock import Stopwatch

    pool, unit = lane.pool, lane.pool.unit
    lane.attention = attention
    tables = np.array([[1, 0], [3, 2]], np.int32)
    before = np.array([unit // 2 + 1, unit + unit // 2], np.int64)
    ids = np.arange(int(before.sum()) + 3, dtype=np.int32)
    zero = np.zeros(2, np.int64)
    steps = (
        Batch((), zero, before, tables, ids[: before.sum()], unit),
        Batch((), before, np.array([1, 2], np.int64), tables, ids[-3:], unit),
    )
    with torch.inference_mode():
        pool.spoil(1, 4)
        streams = [lane.forward(step, Stopwatch(lane.device)) for step in steps]
        pool.wipe(0, 4)
        return torch.cat(streams)


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
