"""What the header of a run claims."""

from __future__ import annotations

import pytest

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.heading import heading_of
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware import catalogue
from kvtui.library import load


@pytest.mark.parametrize(
    ("backends", "priced"),
    [(("simulated", "simulated"), True), (("simulated", "torch"), True), (("torch", "torch"), False)],
)
def test_a_device_is_not_given_the_price_of_a_gpu_that_is_simulated(
    backends: tuple[str, str], priced: bool
) -> None:
    lanes = tuple(LaneSpec("paged", backend=backend, name=f"{at}") for at, backend in enumerate(backends))
    tried = Experiment(load("chat", limit=2), catalogue.model("llama-3.1-8b"), catalogue.gpu("a10g"), lanes)
    assert (heading_of(tried).usd_per_hour is not None) is priced


def test_the_size_of_a_pool_is_said_to_be_an_upper_bound_where_it_is_one() -> None:
    asked = (load("chat", limit=2), catalogue.model("llama-3.1-8b"))
    bound = heading_of(Experiment(*asked, catalogue.gpu("a10g"), (LaneSpec("paged"),)))
    assert bound.pool_at_most
    assert "an upper bound" in bound.pool_note
    met = heading_of(Experiment(*asked, catalogue.gpu("h100-sxm"), (LaneSpec("paged"),)))
    assert not met.pool_at_most
    assert "servers with this GPU" in met.pool_note
    given = heading_of(Experiment(*asked, catalogue.gpu("a10g"), (LaneSpec("paged"),), slots=4096))
    assert not given.pool_at_most
    assert not given.pool_note
