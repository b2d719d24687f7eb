"""Chance without a state: bits that look random and depend on nothing but a number."""

from __future__ import annotations

BITS = 64
MASK = (1 << BITS) - 1


def mixed(x: int) -> int:
    """64 bits that each depend on all bits of `x`: a step of SplitMix64 (Steele, Lea and Flood, 2014)."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31
