"""Layers of a model as the memory manager of vLLM sees them: which share blocks, and what a block holds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from kvtui.hardware.catalogue import KvGroup, ModelSpec
from kvtui.memory.groups import groups_of
from kvtui.serving.rules import Rules


@cache
def layers_of(model: ModelSpec, tp: int = 1) -> tuple[str, ...]:
    """Attention layers as `groups_of` reads them; empty where all layers share one block table.

    That is so without windows, and with chunked attention: by default vLLM then stores all layers like those
    of full attention. States of linear attention have no part in it.
    """
    kinds = {group.kind for group in model.kv_groups}
    if "sliding" not in kinds or kinds - {"sliding", "full"}:
        return ()
    narrowest = min(_width(group, tp) for group in model.kv_groups)
    names = [_named(group, _width(group, tp) // narrowest) for group in model.kv_groups]
    return tuple(
        name for name, group in zip(names, model.kv_groups, strict=True) for _ in range(group.layers)
    )


def _width(group: KvGroup, tp: int) -> int:
    """Numbers that a layer stores for a token."""
    return group.kv_elements(tp) // group.layers


def _named(group: KvGroup, times: int) -> str:
    name = "full" if group.window is None else f"sliding:{group.window}"
    return name if times == 1 else f"{name}*{times}"


@cache
def slot_share(model: ModelSpec, tp: int = 1) -> tuple[int, int]:
    """What part of the numbers of a token one slot of a block has, as a fraction: a block serves the layers
    of one group, those of the others have blocks of their own."""
    layers = layers_of(model, tp)
    if not layers:
        return 1, 1
    most = max(len(group.layers) for group in groups_of(layers, 1, Rules(1)))
    widest = max(_width(group, tp) for group in model.kv_groups)
    return most * widest, sum(group.kv_elements(tp) for group in model.kv_groups)


def longest(layers: tuple[str, ...], blocks: int, block_size: int, rules: Callable[[int], Rules]) -> int:
    """Tokens of the longest request that so many blocks hold, by the `rules` for a maximum length."""
    low, high = 1, blocks * block_size
    while low < high:
        length = (low + high + 1) // 2
        groups = groups_of(layers, block_size, rules(length))
        needs = [
            g.blocks_for(length) if g.most is None else min(g.blocks_for(length), g.most) for g in groups
        ]
        low, high = (length, high) if sum(needs) <= blocks else (low, length - 1)
    return low
