"""Where a region goes in contiguous memory: first fit, or the buddy system of the PagedAttention paper."""

from __future__ import annotations

from bisect import bisect_left
from typing import Protocol


class Placement(Protocol):
    """Hands out ranges of `size` units out of [0, total)."""

    def place(self, size: int) -> tuple[int, int] | None:
        """(start, units really taken), or None where nothing fits."""
        ...

    def free(self, start: int, size: int) -> None:
        """Give a range back: `start` and the units that were taken."""
        ...

    def extents(self) -> list[tuple[int, int]]:
        """All free ranges (start, size) in order of place."""
        ...

    def fits(self, size: int) -> bool:
        """Whether `place(size)` would succeed."""
        ...

    def taken(self, size: int) -> int:
        """Units that `place(size)` really takes."""
        ...


class FirstFit:
    """The lowest free range that is large enough; neighbours merge when they are freed."""

    def __init__(self, total: int) -> None:
        self._starts = [0] if total else []
        self._sizes = [total] if total else []

    def place(self, size: int) -> tuple[int, int] | None:
        for i, room in enumerate(self._sizes):
            if room >= size:
                start = self._starts[i]
                if room == size:
                    del self._starts[i], self._sizes[i]
                else:
                    self._starts[i] += size
                    self._sizes[i] -= size
                return start, size
        return None

    def free(self, start: int, size: int) -> None:
        i = bisect_left(self._starts, start)
        if i < len(self._starts) and start + size == self._starts[i]:
            size += self._sizes[i]
            del self._starts[i], self._sizes[i]
        if i and self._starts[i - 1] + self._sizes[i - 1] == start:
            self._sizes[i - 1] += size
            return
        self._starts.insert(i, start)
        self._sizes.insert(i, size)

    def extents(self) -> list[tuple[int, int]]:
        return list(zip(self._starts, self._sizes, strict=True))

    def fits(self, size: int) -> bool:
        return any(room >= size for room in self._sizes)

    def taken(self, size: int) -> int:
        return size


class Buddy:
    """Sizes are rounded up to powers of two; a free range merges with its buddy (start XOR size).

    The memory starts as as many ranges of `largest` units as fit, then halves of it, greedily. A request
    takes from the smallest class that has a range, the last freed first, and splits it downwards. (Kwon et
    al., SOSP 2023: how the Orca baselines place their reservations.)
    """

    def __init__(self, total: int, largest: int) -> None:
        self._classes: dict[int, list[int]] = {}
        size = _power_of_two(largest)
        self.largest = size
        start = 0
        while size:
            while total - start >= size:
                self._classes.setdefault(size, []).append(start)
                start += size
            size //= 2
        for starts in self._classes.values():
            starts.reverse()  # the lowest comes out first

    def place(self, size: int) -> tuple[int, int] | None:
        wanted = _power_of_two(size)
        room = wanted
        while room <= self.largest and not self._classes.get(room):
            room *= 2
        if room > self.largest:
            return None
        start = self._classes[room].pop()
        while room > wanted:
            room //= 2
            self._classes.setdefault(room, []).append(start + room)
        return start, wanted

    def free(self, start: int, size: int) -> None:
        while size < self.largest:
            buddies = self._classes.setdefault(size, [])
            if start ^ size not in buddies:
                break
            buddies.remove(start ^ size)
            start &= ~size
            size *= 2
        self._classes.setdefault(size, []).append(start)

    def extents(self) -> list[tuple[int, int]]:
        return sorted((start, size) for size, starts in self._classes.items() for start in starts)

    def taken(self, size: int) -> int:
        return _power_of_two(size)

    def fits(self, size: int) -> bool:
        wanted = _power_of_two(size)
        return any(room >= wanted and starts for room, starts in self._classes.items())


def _power_of_two(n: int) -> int:
    """The smallest power of two that is at least n."""
    return 1 << max(n - 1, 0).bit_length()
