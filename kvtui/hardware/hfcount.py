"""How many parameters a `config.json` describes, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import Experts
from kvtui.hardware.hffields import count, indices
from kvtui.hardware.hfmixers import mixer_parameters

if TYPE_CHECKING:
    from kvtui.hardware.hfconfig import Shape

Config = dict[str, Any]

UNGATED = (
    *("opt", "gpt2", "gpt_neox", "gpt_bigcode", "falcon", "phi", "bloom", "mpt", "starcoder2", "nemotron"),
    "nemotron_h",
)
LINEAR = "weights of the linear-attention layers"
ALONE = ("mlp", "moe")  # layers that are that and no more


class Counted(NamedTuple):
    """Parameters: all of them, and those that one token is multiplied by. `unknown` are not in them."""

    total: int
    active: int
    unknown: tuple[str, ...] = ()


def parameters(
    text: Config, shape: Shape, experts: Experts | None, kinds: Sequence[str], embedding: int
) -> Counted:
    """Of layers of these kinds, see `hflayers.LAYER_WORDS`, beside `embedding`."""
    mixers = {kind: mixer_parameters(kind, text, shape) for kind in dict.fromkeys(kinds)}
    alone = any(kind in ALONE for kind in kinds)
    total, sparse = embedding, 0
    for at, kind in enumerate(kinds):
        total += mixers[kind] or 0
        if alone and kind not in ALONE:
            continue
        if experts is not None and (kind == "moe" or (not alone and _is_sparse(text, at))):
            sparse += 1
        else:
            total += _dense(text, shape)
    unknown = (LINEAR,) if None in mixers.values() else ()
    if experts is None or not sparse:
        return Counted(total, total, unknown)
    one = _one(text, shape, experts)
    total += sparse * (experts.experts * one + _beside(text, shape, experts))
    return Counted(total, total - sparse * (experts.experts - experts.top_k) * one, unknown)


def check_countable(text: Config, kinds: Sequence[str], file: str, index: str) -> None:
    """Raises ConfigError for layers that are an MLP alone in an architecture that is not known to have
    them: what the others hold is then not known either."""
    if any(kind in ALONE for kind in kinds) and text.get("model_type") != "nemotron_h":
        raise ConfigError(
            f"{file}: the weights of layers of several kinds cannot be counted from it",
            hint=f"put the model's {index} beside it",
        )


def _is_sparse(text: Config, at: int) -> bool:
    """Whether the layer of this number, from 0, has experts."""
    listed = text.get("moe_layer_freq")
    if isinstance(listed, list):
        return bool(listed[at]) if at < len(listed) else False
    period = count(text, "expert_layer_period")
    if period:
        return at % period == count(text, "expert_layer_offset")
    if at < count(text, "first_k_dense_replace") or at in (indices(text, "mlp_only_layers") or ()):
        return False
    step = count(text, "decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_freq") or 1
    return (at + 1) % step == 0


def _matrix(text: Config, shape: Shape) -> int:
    """Parameters of an MLP a number of its width."""
    return (2 if str(text.get("model_type")) in UNGATED else 3) * shape.hidden


def _dense(text: Config, shape: Shape) -> int:
    told = count(text, "intermediate_size_mlp", "dense_intermediate_size", "shared_intermediate_size")
    return _matrix(text, shape) * (told or shape.intermediate)


def _one(text: Config, shape: Shape, experts: Experts) -> int:
    """One expert, which may work on a narrower stream."""
    latent = count(text, "moe_latent_size", "routed_expert_hidden_size") or shape.hidden
    return _matrix(text, shape) // shape.hidden * latent * (experts.intermediate or shape.intermediate)


def _beside(text: Config, shape: Shape, experts: Experts) -> int:
    """What a layer with experts has beside them: router, ways to the narrower stream, shared experts."""
    latent = count(text, "moe_latent_size", "routed_expert_hidden_size")
    router = shape.hidden * experts.experts + 2 * shape.hidden * latent
    dense = _dense(text, shape) if text.get("enable_moe_block") else 0
    return router + dense + _matrix(text, shape) * _shared(text, shape, experts)


def _shared(text: Config, shape: Shape, experts: Experts) -> int:
    """Width of all experts that every token visits."""
    width = experts.intermediate or shape.intermediate
    if text.get("model_type") == "llama4_text":
        return width
    shared = count(text, "n_shared_experts", "num_shared_experts")
    if shared:
        return shared * (count(text, "moe_shared_expert_intermediate_size") or width)
    return count(text, "shared_expert_intermediate_size", "shared_intermediate_size")
