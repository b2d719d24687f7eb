"""Memory that a step needs beside pools and buffers: bounds, for sizes to leave room for it.

Terms follow the code: `torch_model` makes queries of a few tokens at a time, `torch_sdpa` attends with a few
queries at a time, and what is kept of all tokens of a step are queries and what they read.
"""

from __future__ import annotations

from importlib.util import find_spec

from kvtui.backends.torch_device import Device
from kvtui.backends.torch_model import PIECE, WIDTH
from kvtui.backends.torch_pool import Shape
from kvtui.backends.torch_sdpa import MOST_QUERIES, SCORES, Sdpa

ROUNDING = 96 << 20  # of a GPU: what the allocator keeps beyond what it is asked for, and cuBLAS
FLASHINFER = 144 << 20  # its workspaces, where it is installed
WIDE = 4  # bytes of a number of 32 bits
ON_THE_WAY = 4  # copies of a query in 32 bits while it is turned
KEPT = 3  # queries, what they read, and what a kernel gives before it is put in its place
INDEX = 64  # bytes of a slot that is read: where it is, as 64 bits, in a few forms


def step_bytes(device: Device, shape: Shape, *, tokens: int, longest: int) -> int:
    """Of a step of so many tokens in one lane, with contexts of up to `longest`: lanes take turns."""
    row, itemsize = shape.heads * max(shape.key_dim, shape.value_dim), int(device.dtype.itemsize)
    kept = tokens * (itemsize * (KEPT * row + shape.elements) + WIDE * ON_THE_WAY * WIDTH)
    encoding = tokens * ON_THE_WAY * WIDE * shape.elements if itemsize < WIDE else 0
    piece = min(tokens, PIECE) * WIDE * ON_THE_WAY * row
    slices = min(tokens, MOST_QUERIES) * KEPT * itemsize * row
    return kept + encoding + piece + slices + Sdpa(device, shape).bytes(longest)


def lane_bytes(device: Device, shape: Shape, *, layers: int) -> int:
    """Of a lane, whatever it does: weights of the decoder, and a kernel's workspace."""
    row = shape.heads * max(shape.key_dim, shape.value_dim)
    weights = WIDE * WIDTH * layers * (2 * row + shape.elements)
    return weights + (FLASHINFER if device.kind == "cuda" and find_spec("flashinfer") else 0)


def slot_bytes(device: Device, shape: Shape, *, room: int) -> int:
    """Of a slot that is read, which takes `room` bytes in the buffers: indices and scales, and where a kernel
    keeps scores, those, and K/V in 32 bits."""
    index = INDEX + 2 * WIDE * shape.kv_heads
    if Sdpa(device, shape).lean:
        return index
    return index + SCORES * shape.heads + KEPT * room


def device_bytes(device: Device) -> int:
    """Of the device, once."""
    return 0 if device.on_cpu else ROUNDING


def verify_bytes(device: Device, shape: Shape, *, layers: int, longest: int) -> int:
    """Of a comparison with a request of `longest` tokens that is computed alone."""
    each = int(device.dtype.itemsize) * shape.elements * (layers + 3)
    return longest * each + step_bytes(device, shape, tokens=longest, longest=longest)
