"""Layers of a model as the memory manager of vLLM sees them: which share blocks, and what a block holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from kvtui.comparison.lanes import LaneSpec
from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import KvGroup, ModelSpec
from kvtui.hardware.kvtypes import token_bytes
from kvtui.hardware.sizing import drafter_bytes
from kvtui.memory.layernames import STATES
from kvtui.serving.rules import Rules

if TYPE_CHECKING:
    from kvtui.memory.group import Group

KERNEL_BLOCK = 16  # tokens: vLLM's FlashAttention and Triton kernels (0.32) take blocks of a multiple of it


@cache
def layers_of(model: ModelSpec, tp: int = 1) -> tuple[str, ...]:
    """Layers as `groups_of` reads them; empty where all that keep K and V share one block table.

    That is so without windows and states, and with chunked attention: by default vLLM then stores all layers
    like those of full attention. States of linear attention count where their size is known, and `tp` GPUs
    share them evenly.
    """
    kinds = {group.kind for group in model.kv_groups}
    if not kinds & {"sliding", "linear"} or kinds - {"sliding", "full", "linear"}:
        return ()
    attention = [group for group in model.kv_groups if group.kind != "linear"]
    widths = {_width(group, tp) for group in attention}
    if "linear" in kinds and (not states_known(model, tp) or len(widths) != 1):
        return ()
    names = [_named(group, _width(group, tp) // min(widths)) for group in model.kv_groups]
    return tuple(
        name for name, group in zip(names, model.kv_groups, strict=True) for _ in range(group.layers)
    )


def states_known(model: ModelSpec, tp: int) -> bool:
    """Whether it is known what the layers of linear attention, if there are any, keep on one of `tp` GPUs."""
    states = [group.state for group in model.kv_groups if group.kind == "linear"]
    return all(state is not None and state.parts % tp == 0 for state in states)


def state_bytes(model: ModelSpec, tp: int = 1, *, drafts: int = 0) -> int:
    """Bytes of all states of one request on one of `tp` GPUs, one more for each draft; 0 where the model has
    none or they are not known."""
    if not states_known(model, tp):
        return 0
    states = [(group.layers, group.state) for group in model.kv_groups if group.state is not None]
    return (1 + drafts) * sum(layers * state.bytes(tp, drafts=drafts) for layers, state in states)


def assumed_of_states(model: ModelSpec, lanes: Sequence[LaneSpec], *, tp: int, beside: int) -> Iterator[str]:
    """How lanes that have no blocks for states count them; regions have `beside` slots more for them."""
    what = "states of layers without K and V"
    if beside:
        yield f"{what}: {beside:,} slots more in every region"
    if any(spec.manager == "vllm-sosp" for spec in lanes) and state_bytes(model, tp):
        yield f"{what}: not counted by vllm-sosp, which knew none"
    if not states_known(model, tp):
        yield f"{what}: their size is not known, they are not counted"


def block_size_of(model: ModelSpec, asked: int, *, tp: int, each: int, drafts: int = 0) -> int:
    """Tokens a block, `asked` or more: a block of an attention layer is at least as large as a state. Of a
    token all attention layers store `each` bytes.

    As vLLM 0.32 does (platforms/interface.py): the smallest multiple of what was asked for, and of 16.
    """
    if "linear" not in {group.kind for group in model.kv_groups} or not layers_of(model, tp):
        return asked
    states = [group.state.bytes(tp, drafts=drafts) for group in model.kv_groups if group.state is not None]
    layers = sum(group.layers for group in model.kv_groups if group.kind != "linear")
    unit = max(asked, KERNEL_BLOCK)
    size = unit * -(-max(states) * layers // (unit * each))
    return max(asked, -(-size // KERNEL_BLOCK) * KERNEL_BLOCK)


def with_room(spec: LaneSpec, model: ModelSpec, *, tp: int, drafts: int = 0) -> LaneSpec:
    """A lane with blocks that are large enough for the states of the model's layers."""
    if spec.manager != "paged":
        return spec
    each = token_bytes(model, spec.kv_dtype, tp=tp)
    size = block_size_of(model, spec.block_size, tp=tp, each=each, drafts=drafts)
    return spec._replace(block_size=size)


def _width(group: KvGroup, tp: int) -> int:
    """Numbers that a layer stores for a token."""
    return group.kv_elements(tp) // group.layers


def _named(group: KvGroup, times: int) -> str:
    if group.kind == "linear":
        return STATES[group.state is not None and group.state.within]
    name = "full" if group.window is None else f"sliding:{group.window}"
    return name if times == 1 else f"{name}*{times}"


@cache
def slot_share(model: ModelSpec, tp: int = 1) -> tuple[int, int]:
    """What part of the numbers of a token one slot of a block has, as a fraction: a block serves the layers
    of one group, those of the others have blocks of their own."""
    layers = layers_of(model, tp)
    if not layers:
        return 1, 1
    most = max(len(group.layers) for group in _groups_of(layers, 1, Rules(1)))
    widest = max(_width(group, tp) for group in model.kv_groups)
    return most * widest, sum(group.kv_elements(tp) for group in model.kv_groups)


def windows_of(model: ModelSpec, tp: int = 1) -> tuple[tuple[int | None, int], ...]:
    """Window and number of layers of each group of layers with block tables of its own, in the order of
    these; empty where all share one."""
    layers = layers_of(model, tp)
    groups = _groups_of(layers, 1, Rules(1))
    return tuple((group.window, len(group.layers)) for group in groups)


def attention_of(model: ModelSpec, tp: int = 1) -> tuple[tuple[int | None, int], ...]:
    """The same of layers that keep K and V, without those that keep a state."""
    layers = layers_of(model, tp)
    groups = _groups_of(layers, 1, Rules(1))
    return tuple((group.window, len(group.layers)) for group in groups if group.name not in STATES)


def tables_of(model: ModelSpec, tp: int = 1) -> int:
    """Block tables that a request has by kinds of layers; 0 where that is not known."""
    kinds = {group.kind for group in model.kv_groups}
    return len(windows_of(model, tp)) or (0 if kinds & {"sliding", "linear"} else 1)


def slot_bytes(model: ModelSpec, kv_dtype: str, *, tp: int = 1, drafter: ModelSpec | None = None) -> int:
    """Bytes of one slot of a paged lane's blocks on one of `tp` GPUs, with a drafter's share.

    Raises ConfigError for heads that the GPUs cannot share, or a drafter beside layers of several kinds.
    """
    if model.heads % tp:
        raise ConfigError(
            f"{model.label} has {model.heads} heads: {tp} GPUs cannot share them evenly",
            hint="take a number of GPUs that divides them",
        )
    uneven = [heads for group in model.kv_groups if (heads := group.kv_heads) % tp and tp % heads]
    if uneven:
        raise ConfigError(
            f"{model.label} has {uneven[0]} KV heads: {tp} GPUs can neither share nor repeat them evenly",
            hint="take a number of GPUs that divides them, or that they divide",
        )
    if drafter is not None and layers_of(model, tp):
        raise ConfigError(
            f"{model.label} has layers of several kinds: how a drafter's share blocks with them is not known",
            hint="leave --spec-model out: the pool is then an upper bound",
        )
    part, whole = slot_share(model, tp)
    return token_bytes(model, kv_dtype, tp=tp) * part // whole + drafter_bytes(drafter, kv_dtype, tp=tp)


def longest(layers: tuple[str, ...], blocks: int, block_size: int, rules: Callable[[int], Rules]) -> int:
    """Tokens of the longest request that so many blocks hold, by the `rules` for a maximum length."""
    low, high = 1, blocks * block_size
    while low < high:
        length = (low + high + 1) // 2
        groups = _groups_of(layers, block_size, rules(length))
        need = sum(group.at_once(length) for group in groups)
        low, high = (length, high) if need <= blocks else (low, length - 1)
    return low


def _groups_of(layers: Sequence[str], block_size: int, rules: Rules) -> tuple[Group, ...]:
    """As `groups_of`, which is loaded for models with layers of several kinds only; none for others."""
    if not layers:
        return ()
    from kvtui.memory.groups import groups_of

    return groups_of(layers, block_size, rules)
