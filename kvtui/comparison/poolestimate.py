"""How much an experiment's pool is worth, where its size is estimated."""

from __future__ import annotations

from typing import Any

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.layers import layers_of
from kvtui.hardware.measuredpools import GIVEN, Estimate, judged

DRAFTER = "the drafter"


def pool_estimate(experiment: Experiment) -> Estimate | None:
    """What is known of the estimate, in the last lane's blocks; None where the size was given."""
    if experiment.slots is not None or experiment.workload.slots is not None:
        return None
    sized = experiment.sized(experiment.lanes[-1])
    if experiment.drafter_left_out:
        sized = sized._replace(left_out=(*sized.left_out, DRAFTER))
    return judged(sized, experiment.gpu, states=bool(layers_of(experiment.model, experiment.tp)))


def pool_report(experiment: Experiment) -> dict[str, Any]:
    """The same as JSON, and how the size is known: derived, reported by a log, or given."""
    found = pool_estimate(experiment)
    if found is None:
        label = "reported" if experiment.pool_from else "given"
        return {"label": label, "by": experiment.pool_from or None, **GIVEN}
    return {"label": "derived", "by": None, **found.report()}
