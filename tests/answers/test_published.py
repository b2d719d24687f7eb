"""What other simulators say of the same trace on the same GPU."""

from __future__ import annotations

import pytest

from kvtui.answers.report import summary
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.hardware.catalogue import gpu, model
from kvtui.traces import load
from tests.shared import SHARED, needs_shared


@needs_shared
def test_the_first_thousand_azure_requests_on_an_h100() -> None:
    """BLIS and Dynamo's mocker: 1,140 output tokens/s, mean time of a request 2.01 and 1.94 s."""
    trace = load(str(SHARED / "traces" / "azure2023_conv_rows0000-1499.csv"), limit=1000)
    lanes = (LaneSpec("paged"),)
    tried = Experiment(trace, model("llama-3.1-8b"), gpu("h100-sxm"), lanes, utilization=0.9)
    built = tried.build(watched=False)
    built[0].run()
    (told,) = summary(tried, built)["lanes"]
    assert told["throughput"]["output_tokens_per_s"] == pytest.approx(1140, rel=0.01)
    assert told["latency"]["e2e_s"]["mean"] == pytest.approx(1.975, rel=0.15)
