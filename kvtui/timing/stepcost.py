"""Which model of step times a run gets: fitted or out of measured tables, with or without a drafter."""

from __future__ import annotations

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.hardware.kvtypes import element_bytes
from kvtui.serving.cost import CostModel
from kvtui.timing import coefficients
from kvtui.timing.coefficients import EngineProfile
from kvtui.timing.roofline import RooflineCost

TABLES = "aiconfigurator"  # the name of step times out of NVIDIA's tables
_INSIDE = 1e-6  # us: host times that a step has once, whoever computes in it


def engine_known(name: str) -> None:
    """Raises ConfigError where `step_cost` would have no such engine."""
    if name != TABLES:
        coefficients.engine(name, beside=(TABLES,))


def step_cost(
    model: ModelSpec,
    gpu: GpuSpec,
    kv_dtype: str,
    *,
    tp: int,
    engine: str,
    drafter: ModelSpec | None = None,
    passes: int = 0,
) -> CostModel:
    """Steps of a model on `tp` GPUs with K and V stored as `kv_dtype`, with so many passes of a drafter.

    `engine` is `TABLES`, or what `coefficients.engine` reads. Raises ConfigError.
    """
    if engine == TABLES:
        from kvtui.timing import aiconfigurator

        if drafter is not None:
            raise ConfigError("aiconfigurator has no times of a drafter", hint="leave --spec-model out")
        return aiconfigurator.table(aiconfigurator.known_as(model), gpu.id, tp, kv_dtype)
    profile = coefficients.engine(engine, beside=(TABLES,))
    server = coefficients.software(engine)

    def cost(model: ModelSpec, engine: EngineProfile) -> RooflineCost:
        each = element_bytes(model, kv_dtype, tp=tp)
        return RooflineCost.of(model, gpu, tp=tp, kv_dtype_bytes=each, engine=engine, software=server)

    if drafter is None:
        return cost(model, profile)
    from kvtui.timing.drafting import DraftingCost

    inside = profile._replace(base_us=_INSIDE, sequence_us=_INSIDE)
    return DraftingCost(cost(model, profile), cost(drafter, inside), passes)
