"""The device that tensors live on: which one, how much memory it may give, and what its failures mean.

Devices of any maker go through torch: CUDA and ROCm as "cuda", Intel as "xpu", Apple as "mps".
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kvtui.errors import BackendError, BackendUnavailable

if TYPE_CHECKING:
    import torch

SHARE = 0.25  # of the free memory: others use the machine too
CPU_BYTES = 384 << 20  # of tensors on the CPU unless a share was asked for: attention is slow there
COPIED = 64 << 20  # bytes, to see how fast that goes
INSTALL = "pip install 'kvtui[gpu]', after torch as pytorch.org says for your device"
ACCELERATORS = ("cuda", "xpu", "mps")
DEVICES = ("auto", *ACCELERATORS, "cpu")


def import_torch() -> None:
    """Load torch; raises BackendUnavailable with the remedy."""
    if find_spec("torch") is None:
        raise BackendUnavailable("real tensors need PyTorch, which is not installed", hint=INSTALL)
    try:
        import torch  # noqa: F401
    except (ImportError, OSError) as error:  # a build for another machine
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BackendUnavailable(f"PyTorch is installed but does not load: {first}", hint=INSTALL) from error


class Device:
    """One torch device with its data type for K/V."""

    def __init__(self, name: str = "auto") -> None:
        import_torch()
        import torch

        kind = name.partition(":")[0]
        if kind not in DEVICES:
            raise BackendUnavailable(f"there is no device {name!r}", hint=f"one of {', '.join(DEVICES)}")
        if kind == "auto":
            kind = name = next((kind for kind in ACCELERATORS if _works(kind)), "cpu")
        elif kind != "cpu" and not _works(kind):
            hint = f"--device cpu works anywhere; {INSTALL}"
            raise BackendUnavailable(_why_not(kind), hint=hint)
        with told(name):
            self.device: torch.device = torch.device(name)
            if kind in ("cuda", "xpu") and self.device.index is None:
                self.device = torch.device(kind, getattr(torch, kind).current_device())
            torch.empty(1, device=self.device)  # a driver too old says so here

    @property
    def kind(self) -> str:
        return str(self.device.type)

    @property
    def on_cpu(self) -> bool:
        return self.kind == "cpu"

    @property
    def api(self) -> Any:
        """What torch offers for this kind of device: `torch.cuda`, `torch.xpu`, `torch.mps`."""
        import torch

        return getattr(torch, self.kind)

    @cached_property
    def label(self) -> str:
        """The hardware by name; asked for once, so that it can be told when the device is gone."""
        if self.kind in ("cuda", "xpu"):
            return str(self.api.get_device_name(self.device))
        return "Apple GPU" if self.kind == "mps" else "CPU"

    @property
    def dtype(self) -> torch.dtype:
        """Of K/V: 16 bits on a GPU, as served; 32 bits on a CPU, where they are exact and no slower."""
        import torch

        if self.on_cpu:
            return torch.float32
        if self.kind == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
            return torch.float16
        return torch.bfloat16

    # ---- memory

    def free_bytes(self) -> int:
        """Memory that nobody uses now."""
        if self.kind in ("cuda", "xpu"):
            return int(self.api.mem_get_info(self.device)[0])
        if self.kind == "mps":
            return max(int(self.api.recommended_max_memory() - self.api.driver_allocated_memory()), 0)
        return _available()

    def copied_bytes_per_s(self) -> float:
        """How fast memory is copied here, roughly: the best of a few tries."""
        import torch

        there = torch.zeros(COPIED // 4, dtype=torch.float32, device=self.device)
        best = float("inf")
        for _ in range(4):
            self.synchronize()
            start = time.perf_counter()
            there.clone()
            self.synchronize()
            best = min(best, time.perf_counter() - start)
        return COPIED / best

    def total_bytes(self) -> int | None:
        """All of the device's memory, where it says."""
        return int(self.api.mem_get_info(self.device)[1]) if self.kind in ("cuda", "xpu") else None

    def settle(self) -> None:
        """Make this thread one that works on the device. On a CPU it leaves one core for everything else: for
        the screen above all."""
        import torch

        if self.on_cpu:
            torch.set_num_threads(max(1, min(torch.get_num_threads(), (os.cpu_count() or 1) - 1)))
        elif self.kind != "mps":
            self.api.set_device(self.device)  # the current device is a thread's own
        if self.kind == "cuda":
            # cuDNN's attention comes first on Hopper and newer, and plans anew for every shape it has not
            # seen: tens of milliseconds of the host, in almost every step of growing contexts.
            torch.backends.cuda.enable_cudnn_sdp(False)

    def allowance(self, share: float | None = None) -> int:
        """Bytes that may be taken: a share of what is free; on a CPU no more than a little, unless asked."""
        free = self.free_bytes()
        allowed = int(free * (SHARE if share is None else share))
        return min(allowed, CPU_BYTES) if self.on_cpu and share is None else allowed

    def limit(self, more: int) -> None:
        """Let torch take at most so many bytes beyond what it has; on a CPU nothing enforces that."""
        most = int(self.api.recommended_max_memory()) if self.kind == "mps" else self.total_bytes()
        cap = None if self.on_cpu else getattr(self.api, "set_per_process_memory_fraction", None)
        if cap is not None and most:
            part = min((more + (self.reserved_bytes() or 0)) / most, 1.0)
            cap(part) if self.kind == "mps" else cap(part, self.device)

    def reserved_bytes(self) -> int | None:
        """What torch keeps of the device, used or not; None where it does not say."""
        if self.kind in ("cuda", "xpu"):
            return int(self.api.memory_reserved(self.device))
        return int(self.api.driver_allocated_memory()) if self.kind == "mps" else None

    def synchronize(self) -> None:
        """Wait until everything asked of the device is done."""
        if self.kind in ("cuda", "xpu"):
            self.api.synchronize(self.device)  # whichever device is current in this thread
        elif not self.on_cpu:
            self.api.synchronize()

    def give_back(self) -> None:
        """Return memory that is no longer used to the driver."""
        if not self.on_cpu:
            with suppress(RuntimeError):  # a device that has failed has nothing to give back
                self.api.empty_cache()


@contextmanager
def told(label: str) -> Iterator[None]:
    """What a device raises, as one sentence: no room, or no longer there."""
    try:
        yield
    except (RuntimeError, TypeError) as error:  # of a type that the device has not
        words = " ".join(str(error).split()) or type(error).__name__
        if _out_of_memory(error):
            raise BackendError(
                f"{label} has no memory left: {_sentence(words)}",
                hint="give it fewer --blocks, fewer --kv-layers or a smaller --device-share",
            ) from error
        raise BackendError(
            f"{label} failed: {_sentence(words)}", hint="the simulation needs no device"
        ) from error


def _available() -> int:
    """Main memory that programs can still get, as Linux counts it; elsewhere all there is."""
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _out_of_memory(error: Exception) -> bool:
    words = str(error)
    said = "can't allocate memory" in words or "out of memory" in words
    return said or type(error).__name__ == "OutOfMemoryError"


def _sentence(words: str) -> str:
    """The first sentence of what a library says, cut to a line."""
    return words.partition(". ")[0].rstrip(".")[:160]


def _works(kind: str) -> bool:
    import torch

    backend = torch.backends.mps if kind == "mps" else getattr(torch, kind, None)
    try:
        return backend is not None and bool(backend.is_available())
    except RuntimeError:  # a driver that answers with an error is none
        return False


def _why_not(kind: str) -> str:
    """What keeps torch from using a kind of device, as far as torch knows."""
    import torch

    built = torch.version.cuda or getattr(torch.version, "hip", None)
    if kind == "cuda" and not built:
        return f"this PyTorch ({torch.__version__}) was built without CUDA or ROCm"
    if kind == "mps" and platform.system() != "Darwin":
        return "mps is Apple's, and this is no Mac"
    return f"PyTorch {torch.__version__} finds no {kind} device: no GPU, or no driver that works"
