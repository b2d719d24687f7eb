"""Groups of layers that share block tables, and how much of its tables a request needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvtui.errors import ConfigError
from kvtui.serving.rules import Rules

ONE_FULL_LAYER = ("full",)
Kind = tuple[int | None, int]  # window, tokens a block


@dataclass(frozen=True, slots=True)
class Group:
    """Layers with one block table."""

    window: int | None  # tokens that a layer looks back; None = all of them
    size: int  # tokens a block
    layers: tuple[int, ...]
    drafter: bool = False  # its layers are known to include the drafter's
    further: bool = False  # its hits are proven one block further than they count
    extra: int = 0  # tokens kept in front of the window
    most: int | None = None  # blocks a request can need at once, as far as admission knows

    @property
    def kind(self) -> Kind:
        """Groups of one kind find the same hits."""
        return self.window, self.size

    @property
    def proof(self) -> int:
        """Blocks in a row that make a hit of a window."""
        assert self.window is not None
        return -(-(self.window - 1) // self.size) + self.further

    def blocks_for(self, tokens: int) -> int:
        """Blocks that `tokens` tokens fill."""
        return -(-tokens // self.size)

    def skipped(self, computed: int) -> int:
        """Leading blocks that nobody reads any more when so many tokens are computed."""
        if self.window is None:
            return 0
        return max(0, computed - self.window + 1 - self.extra) // self.size


def groups_of(layers: Sequence[str], block_size: int, rules: Rules) -> tuple[Group, ...]:
    """The groups that vLLM makes of attention layers (`"full"` or `"sliding:WINDOW"`, `"*2"` behind it for
    twice the KV heads), each with as many layers as the others and the same bytes a block."""
    kinds = [_parsed(text) for text in layers]
    if len({window for window, _ in kinds}) == 1:
        groups = [Group(kinds[0][0], block_size, tuple(range(len(kinds))))]
    else:
        groups = _split(kinds, block_size)
    return tuple(_measured(group, rules) for group in _with_drafter(groups, len(kinds) - 1, rules))


def _parsed(text: str) -> tuple[int | None, int]:
    """Window and KV heads of a layer."""
    kind, _, heads = text.partition("*")
    name, _, window = kind.partition(":")
    positive = [part.isdigit() and int(part) > 0 for part in (window or "1", heads or "1")]
    if name not in ("full", "sliding") or (name == "sliding") != bool(window) or not all(positive):
        raise ConfigError(f"no attention layer {text!r}", hint="full, or sliding:1024 for a window")
    return int(window) if window else None, int(heads or 1)


def _split(kinds: Sequence[tuple[int | None, int]], block_size: int) -> list[Group]:
    """Layers by kind, in parts of equal length. Where a layer needs fewer bytes a token than the widest,
    its blocks hold more tokens; where that does not go up they are padded."""
    widest = max(heads for _, heads in kinds)
    buckets: dict[Kind, list[int]] = {}
    for layer, (window, heads) in enumerate(kinds):
        size = block_size * (1 if widest % heads else widest // heads)
        buckets.setdefault((window, size), []).append(layer)
    counts = [len(members) for members in buckets.values()]
    each = max(counts) if max(counts) < min(counts) * 1.5 else min(counts)
    groups = []
    for (window, size), members in buckets.items():
        parts = -(-len(members) // each)
        groups += [Group(window, size, tuple(members[i::parts])) for i in range(parts)]
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
