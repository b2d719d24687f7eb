"""Which layers share block tables: the groups that vLLM makes of a model's layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from kvtui.errors import ConfigError
from kvtui.memory.group import Group
from kvtui.memory.layernames import STATES
from kvtui.memory.states import StateGroup, WholeStateGroup
from kvtui.serving.rules import Rules

ONE_FULL_LAYER = ("full",)


class Layer(NamedTuple):
    """What one layer keeps."""

    name: str  # full, sliding, or one of STATES
    window: int | None
    heads: int  # of K and V, in some unit; a state takes a block of the widest layers

    @property
    def sort(self) -> tuple[str, int | None]:
        """Layers of one sort share block tables."""
        return self.name, self.window


def groups_of(
    layers: Sequence[str], block_size: int, rules: Rules, *, prefix_cache: bool = True
) -> tuple[Group, ...]:
    """The groups that vLLM makes of layers, each with as many layers and the same bytes a block.

    Attention is `"full"` or `"sliding:WINDOW"`, with `"*2"` behind it for twice the KV heads; `"mamba"` keeps
    a state, `"mamba2"` one that can be saved inside a step. With `prefix_cache` states are kept by block.
    """
    parsed = [_parsed(text) for text in layers]
    if all(layer.name in STATES for layer in parsed):
        raise ConfigError("a model without attention layers has no KV cache")
    if {layer.name for layer in parsed} >= set(STATES):
        raise ConfigError("states that a step can save do not go with others", hint="mamba or mamba2")
    attention = [layer for layer in parsed if layer.name not in STATES]
    if len(attention) < len(parsed) and len({layer.heads for layer in attention}) > 1:
        raise ConfigError("states beside attention layers of several widths are not known")
    make = _Maker(block_size, rules, prefix_cache=prefix_cache)
    if len({layer.sort for layer in parsed}) == 1:
        groups = [make.group(parsed[0], block_size, range(len(parsed)))]
    else:
        groups = _split(parsed, make)
    return tuple(_measured(group, rules) for group in _with_drafter(groups, len(parsed) - 1, rules))


def _parsed(text: str) -> Layer:
    kind, _, heads = text.partition("*")
    name, _, window = kind.partition(":")
    positive = [part.isdigit() and int(part) > 0 for part in (window or "1", heads or "1")]
    known = name in ("full", "sliding") or (name in STATES and not heads)
    if not known or (name == "sliding") != bool(window) or not all(positive):
        raise ConfigError(f"no layer {text!r}", hint="full, sliding:1024 for a window, mamba for a state")
    return Layer(name, int(window) if window else None, int(heads or 1))


class _Maker:
    """Makes groups of the right class."""

    def __init__(self, block_size: int, rules: Rules, *, prefix_cache: bool) -> None:
        self.block_size = block_size
        self._max_len = rules.max_model_len
        self._scratch = rules.speculation.tokens
        self._by_block = prefix_cache

    def group(self, layer: Layer, size: int, layers: Sequence[int]) -> Group:
        """A group of layers like this one."""
        members = tuple(layers)
        if layer.name not in STATES:
            return Group(layer.window, size, members)
        within = layer.name == "mamba2"
        if self._by_block:
            return StateGroup(None, size, members, scratch=self._scratch, within=within)
        return WholeStateGroup(None, self._max_len, members, scratch=self._scratch, within=within)


def _split(layers: Sequence[Layer], make: _Maker) -> list[Group]:
    """Layers by kind, in parts of equal length. Where a layer needs fewer bytes a token than the widest,
    its blocks hold more tokens; where that does not go up they are padded."""
    widest = max(layer.heads for layer in layers)
    buckets: dict[tuple[str, int | None, int], list[int]] = {}
    for at, layer in enumerate(layers):
        even = layer.name in STATES or widest % layer.heads
        size = make.block_size * (1 if even else widest // layer.heads)
        buckets.setdefault((*layer.sort, size), []).append(at)
    counts = [len(members) for members in buckets.values()]
    each = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
    groups = []
    for (*_, size), members in buckets.items():
        parts = -(-len(members) // each)
        groups += [make.group(layers[members[0]], size, members[i::parts]) for i in range(parts)]
    return groups


def _with_drafter(groups: list[Group], last: int, rules: Rules) -> list[Group]:
    """Mark the groups whose hits must be proven further: those like the drafter's own, where it is known to
    be the last layer, else all."""
    if not rules.speculation.hidden_states:
        return groups
    if len(groups) > 1 and rules.spec_method in ("mtp", "mtp_modules"):
        groups = [replace(g, drafter=last in g.layers) for g in groups]
        alike = {g.kind for g in groups if g.drafter}
    else:
        alike = {g.kind for g in groups}
    return [replace(g, further=g.kind in alike) for g in groups]


def _measured(group: Group, rules: Rules) -> Group:
    if group.window is None:
        return group
    extra = rules.speculation.refill
    in_flight = rules.max_num_batched_tokens * (2 if rules.async_scheduling else 1)
    reach = min(group.window - 1 + extra + in_flight, rules.max_model_len)
    return replace(group, extra=extra, most=group.blocks_for(reach) + 1)
