"""How numbers are written. Each form has a fixed field, so that a number never moves and is never cut."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

from kvtui.units import tenths

NA = "n/a"
_MINUTES_FROM = 999.5  # seconds
_MEMORY = ("B", "KiB", "MiB", "GiB", "TiB")


def clock(seconds: float) -> str:
    """`01:14.0`; from one hour on `1:01:14`. Seven cells up to ten hours."""
    shown = tenths(seconds)
    if shown < 36_000:
        return f"{shown // 600:02d}:{shown // 10 % 60:02d}.{shown % 10}"
    whole = shown // 10
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def seconds_of(text: str) -> float | None:
    """What `clock` writes and plain seconds, read: `74`, `1:14.5`, `1:01:14`; None for anything else."""
    parts = text.strip().split(":")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        return None
    if len(parts) > 3 or not all(0 <= number < float("inf") for number in numbers):
        return None
    return sum(number * 60**at for at, number in enumerate(reversed(numbers)))


def tick(seconds: float) -> str:
    """A time on an axis: `01:14`, from one hour on `1:01:14`."""
    return clock(seconds)[:5] if seconds < 3600 else clock(seconds)


def ticks(times: Sequence[float]) -> list[str]:
    """The times of one axis; with tenths where whole seconds would not tell them apart."""
    whole = [tick(time_s) for time_s in times]
    return whole if len(set(whole)) == len(whole) else [clock(time_s) for time_s in times]


def count(number: float | None, *, width: int = 6) -> str:
    """`1,209`; what does not fit in `width` cells is rounded to thousands, millions: `121k`, `1.2M`."""
    if number is None:
        return NA
    whole = round(number)
    text = f"{whole:,}"
    if len(text) <= width:
        return text
    for scale, unit in ((1e3, "k"), (1e6, "M")):
        if whole < 999.5 * scale:
            return _scaled(whole / scale, unit)
    return _scaled(whole / 1e9, "G")


def _scaled(size: float, unit: str) -> str:
    return f"{size:.1f}{unit}" if size < 9.95 else f"{size:,.0f}{unit}"


def mean(number: float | None) -> str:
    """A mean batch: one decimal."""
    return NA if number is None else f"{number:.1f}"


def share(percent: float) -> str:
    return f"{percent:.1f}%"


def ratio(value: float, baseline: float) -> str | None:
    """`3.5x`, from ten on `12x`; None where the baseline is nothing."""
    if baseline <= 0:
        return None
    times = value / baseline
    return f"{times:.1f}x" if times < 9.95 else f"{times:,.0f}x"


def speed(times: float) -> str:
    """`4.0x`, `16x`, `0.25x`: virtual seconds a second."""
    if times >= 9.95:
        return f"{times:,.0f}x"
    return f"{times:.1f}x" if times >= 0.995 else f"{times:.2f}x"


def speed_wanted(times: float) -> str:
    """The same for a speed that was chosen, which can be as fast as it goes."""
    return speed(times) if math.isfinite(times) else "as fast as it goes"


def unit_of(values: Iterable[float | None]) -> str:
    """The unit for a row of latencies: seconds as soon as one of them is a second long."""
    return "s" if max((value for value in values if value is not None), default=1.0) >= 0.9995 else "ms"


def latency(seconds: float | None, unit: str) -> str:
    """`18.0 s`, `27 ms`: at most six cells; long ones in minutes and hours."""
    if seconds is None:
        return NA
    if unit == "ms":
        return f"{seconds * 1000:,.0f} ms"
    if seconds < _MINUTES_FROM:
        return f"{seconds:.1f} s" if seconds < 99.95 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 59_970 else f"{seconds / 3600:.0f} h"


def within(seconds: float | None, low: float, high: float, unit: str) -> str:
    """`27 ms 25–29`: a time and between what it may be; minutes and hours stand alone."""
    text = latency(seconds, unit)
    if seconds is None or seconds >= _MINUTES_FROM:
        return text
    scale = 1000 if unit == "ms" else 1
    low, high = low * scale, high * scale
    digits = 2 if high < 1 else 1 if high < 10 or (unit == "s" and high < 99.95) else 0
    return f"{text} {low:,.{digits}f}–{high:,.{digits}f}"


def memory(amount: int) -> str:
    """`4.88 GiB`: binary units, three figures."""
    size, unit = float(amount), 0
    while size >= 1000 and unit < len(_MEMORY) - 1:
        size, unit = size / 1024, unit + 1
    if unit == 0 or size == int(size):
        return f"{size:.0f} {_MEMORY[unit]}"
    return f"{size:.{2 if size < 10 else 1 if size < 100 else 0}f} {_MEMORY[unit]}"


def counted(number: int, thing: str) -> str:
    """`1 block`, `1,209 blocks`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def request(number: int) -> str:
    return f"r{number}"


def progress(done: int, total: int) -> str:
    """`830/  865`: eleven cells up to 99,999, the total right-aligned."""
    return f"{done:,}/{total:>5,}"


def rounded(parts: Sequence[float], *, total: int) -> list[int]:
    """Whole numbers in proportion to `parts` that add up to `total` (largest remainder; ties go left)."""
    whole = sum(parts)
    if whole <= 0:
        return [0] * len(parts)
    exact = [part * total / whole for part in parts]
    result = [int(value) for value in exact]
    order = sorted(range(len(parts)), key=lambda at: (result[at] - exact[at], at))
    for at in order[: total - sum(result)]:
        result[at] += 1
    return result


def shares(parts: Sequence[float], *, whole: bool) -> list[str]:
    """Per cents that add up to exactly 100.0, or to 100 when `whole`."""
    if sum(parts) <= 0:
        return ["0%" if whole else "0.0%"] * len(parts)
    if whole:
        return [f"{part}%" for part in rounded(parts, total=100)]
    return [f"{part // 10}.{part % 10}%" for part in rounded(parts, total=1000)]


def bar(parts: Sequence[float], *, width: int) -> list[int]:
    """Cells of a bar for each part: every part above nothing gets one, the longest gives it up."""
    cells = rounded(parts, total=width)
    for at, part in enumerate(parts):
        if part > 0 and cells[at] == 0:
            cells[at] = 1
            cells[max(range(len(cells)), key=cells.__getitem__)] -= 1
    return cells


def axis_top(peak: int) -> int:
    """The end of a batch axis: the next round number above `peak`."""
    steps = (8, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 200, 256, 512, 1024, 2048, 4096)
    if peak < steps[0]:
        return steps[0]
    for low, high in pairwise(steps):
        if low <= peak < high:
            return high
    return -(-(peak + 1) // 4096) * 4096
