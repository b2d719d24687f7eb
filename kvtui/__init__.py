"""kvtui shows why paged KV-cache memory wins, on your own traffic, in your terminal.

The two memory managers are usable on their own::

    from kvtui import ContiguousMemoryManager, PagedMemoryManager

    paged = PagedMemoryManager(num_slots=10_000, block_size=16)
    paged.allocate("a", 120)
    paged.append("a")
    paged.free("a")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvtui.memory.contiguous import ContiguousMemoryManager
    from kvtui.memory.paged import PagedMemoryManager

__version__ = "0.1.0"
__all__ = ["ContiguousMemoryManager", "PagedMemoryManager", "__version__"]


def __getattr__(name: str) -> object:
    # Imported when asked for: `kvtui --version` should not pay for it.
    if name == "ContiguousMemoryManager":
        from kvtui.memory.contiguous import ContiguousMemoryManager

        return ContiguousMemoryManager
    if name == "PagedMemoryManager":
        from kvtui.memory.paged import PagedMemoryManager

        return PagedMemoryManager
    raise AttributeError(f"module 'kvtui' has no attribute {name!r}")
