"""Bits that look random."""

from __future__ import annotations

from kvtui.mixing import mixed


def test_bits_are_those_of_splitmix64() -> None:
    """The first five from the seed 1234567, as its implementations are checked by."""
    step, published = (
        0x9E3779B97F4A7C15,
        [
            6457827717110365317,
            3203168211198807973,
            9817491932198370423,
            4593380528125082431,
            16408922859458223821,
        ],
    )
    assert [mixed((1234567 + at * step) % 2**64) for at in range(5)] == published
