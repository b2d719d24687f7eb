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
    """BLIS and Dynamo's mocker: 1,140 output tokens/s, mean time of a request 2.01 and 1.94 s.

    Nobody waits there, so that the arrivals make the throughput, and the time of a request is that of its 247
    tokens: a difference of 12 and 16 % is one of step times, whose error is 5 % in the median and 16 % in
    nine of ten cases. With the step times that BLIS publishes it is 1.60 s: theirs lie between.
    """
    trace = load(str(SHARED / "traces" / "azure2023_conv_rows0000-1499.csv"), limit=1000)
    lanes = (LaneSpec("paged"),)
    tried = Experiment(trace, model("llama-3.1-8b"), gpu("h100-sxm"), lanes, utilization=0.9)
    built = tried.build(watched=False)
    built[0].run()
    (told,) = summary(tried, built)["lanes"]
    latency, tokens = told["latency"], told["output_tokens"] / 1000
    assert told["throughput"]["output_tokens_per_s"] == pytest.approx(1140, rel=0.005)
    assert latency["e2e_s"]["mean"] == pytest.approx(2.01, rel=0.125)
    assert latency["e2e_s"]["mean"] == pytest.approx(1.94, rel=0.165)
    of_tokens = latency["ttft_s"]["mean"] + latency["tpot_s"]["mean"] * (tokens - 1)
    assert latency["e2e_s"]["mean"] == pytest.approx(of_tokens, rel=0.02)
