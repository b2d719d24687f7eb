"""Wrong numbers that monitors have shown: what must be shown instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.live.numbers import Origin
from kvtui.live.prometheus import parse
from kvtui.live.reading import Reading
from kvtui.live.report import line
from kvtui.live.servers.vllm import reading_of
from kvtui.live.watch import STALE_S, Watch
from tests.live.fake import vllm_page


def read(text: str) -> Reading:
    return reading_of(parse(text, prefixes=("vllm:", "process_")))


def page(**options: object) -> Reading:
    return read(vllm_page(**options))  # type: ignore[arg-type]


def rate_of(watch: Watch, reading: Reading, now: float) -> float | None:
    return watch.take(reading, now).rates["output_tokens_per_s"].value


def test_restart_never_shows_a_negative_rate_and_totals_go_on() -> None:
    """14 s of 1,200 tokens a second, then the counters start at nothing."""
    watch = Watch("s", page(tokens=0), 0.0)
    for second in range(1, 15):
        rate = rate_of(watch, page(tokens=1200 * second), float(second))
        assert rate == pytest.approx(1200)
    after = watch.take(page(tokens=300), 15.0)
    assert after.rates["output_tokens_per_s"].value is None  # nobody knows when it restarted
    assert after.totals["output_tokens"] == (14 * 1200 + 300, Origin.DERIVED)
    assert [mark.what for mark in after.marks] == ["server restarted"]
    following = watch.take(page(tokens=1500), 16.0)
    assert following.rates["output_tokens_per_s"].value == pytest.approx(1200)  # at once, not after 14 s
    assert following.totals["output_tokens"].value == 14 * 1200 + 1500
    assert following.restarts == 1


def test_restart_that_overtook_the_old_counter_is_seen_by_the_start_time() -> None:
    watch = Watch("s", page(tokens=100, started=1000.0), 0.0)
    shown = watch.take(page(tokens=50_000, started=2000.0), 1.0)
    assert shown.rates["output_tokens_per_s"].value is None
    assert shown.totals["output_tokens"].value == 50_100
    assert shown.restarts == 1


def test_a_swapped_model_gives_no_rate() -> None:
    """Behind the same address another model answers, with a counter of its own."""
    watch = Watch("s", page(tokens=100, model="a"), 0.0)
    shown = watch.take(page(tokens=50_100, model="b"), 1.0)
    assert shown.rates["output_tokens_per_s"].value is None
    assert shown.totals["output_tokens"].value == 100  # nobody knows how old its counter is
    assert [mark.what for mark in shown.marks] == ["model is now b"]
    assert rate_of(watch, page(tokens=50_200, model="b"), 2.0) == pytest.approx(100)


def test_two_servers_behind_one_address() -> None:
    watch = Watch("s", page(tokens=100, started=2000.0), 0.0)
    shown = watch.take(page(tokens=9000, started=1000.0), 1.0)
    assert shown.rates["output_tokens_per_s"].value is None
    assert shown.totals["output_tokens"].value == 100
    assert "an older server answers at this address" in [mark.what for mark in shown.marks]


@pytest.mark.parametrize(
    ("usage", "name", "shown"),
    [
        (0.547, "vllm:kv_cache_usage_perc", "KV 54.7%"),
        (0.547, "vllm:gpu_cache_usage_perc", "KV 54.7%"),
        (None, "", "KV n/a"),
    ],
)
def test_a_renamed_metric_is_not_nothing(usage: float | None, name: str, shown: str) -> None:
    watch = Watch("s", page(usage=usage, usage_name=name), 0.0)
    assert shown in line(watch.snapshot(0.0))


def counters(queries: float, hits: float, prompt: float) -> str:
    labels = '{engine="0",model_name="m"}'
    return (
        f"vllm:prefix_cache_queries_total{labels} {queries}\n"
        f"vllm:prefix_cache_hits_total{labels} {hits}\n"
        f"vllm:prompt_tokens_total{labels} {prompt}\n"
    )


def test_hit_rate_is_of_tokens_looked_up() -> None:
    watch = Watch("s", page(more=counters(1000, 600, 500)), 0.0)
    assert watch.snapshot(0.0).hit_rate == (0.6, Origin.DERIVED)


def test_more_hits_than_queries_are_shown_as_they_are() -> None:
    shown = Watch("s", page(more=counters(500, 600, 500)), 0.0).snapshot(0.0)
    assert shown.hit_rate.value is None
    assert shown.notes == ("the server counts 600 prefix hits in 500 tokens looked up",)
    assert "hits n/a" in line(shown)


def test_no_lookups_have_no_hit_rate() -> None:
    assert Watch("s", page(more=counters(0, 0, 0)), 0.0).snapshot(0.0).hit_rate.value is None


def test_a_frozen_page_goes_stale_and_loses_its_rate() -> None:
    watch = Watch("s", page(tokens=0), 0.0)
    rate_of(watch, page(tokens=1200), 1.0)
    soon = watch.take(page(tokens=1200), 2.0)
    assert soon.stale_s is None
    assert soon.rates["output_tokens_per_s"].value == pytest.approx(1200)  # not an invented 0
    late = watch.take(page(tokens=1200), 1.0 + STALE_S)
    assert late.stale_s == STALE_S
    assert late.rates["output_tokens_per_s"].value is None
    assert "stale for 5 s: the page does not change although requests run" in line(late)
    again = watch.take(page(tokens=1200 * 7), 7.0)
    assert again.stale_s is None
    assert again.rates["output_tokens_per_s"].value == pytest.approx(1200)


def test_an_idle_server_is_not_stale() -> None:
    watch = Watch("s", page(running=0, waiting=0), 0.0)
    shown = watch.take(page(running=0, waiting=0), 100.0)
    assert shown.stale_s is None
    assert shown.rates["output_tokens_per_s"].value == 0.0


def test_a_server_that_is_gone_keeps_its_figures_and_says_how_old_they_are() -> None:
    watch = Watch("s", page(tokens=0), 0.0)
    watch.take(page(tokens=1200), 1.0)
    gone = watch.failed("s cannot be reached: Connection refused", 13.0)
    assert gone.stale_s == 12.0
    assert gone.reading.running.value == 2
    assert gone.rates["output_tokens_per_s"].value is None
    assert "stale for 12 s: s cannot be reached" in line(gone)
    back = watch.take(page(tokens=1200 * 14), 14.0)
    assert back.stale_s is None
    assert [mark.what for mark in back.marks] == ["s cannot be reached: Connection refused", "answers again"]


def test_a_clock_that_goes_back_gives_no_rate() -> None:
    watch = Watch("s", page(tokens=0), 10.0)
    assert rate_of(watch, page(tokens=1200), 9.0) is None
    assert rate_of(watch, page(tokens=2400), 10.0) == pytest.approx(1200)


def test_a_partial_page_makes_nothing_nought() -> None:
    whole = vllm_page(tokens=1000)
    watch = Watch("s", read(whole), 0.0)
    partial = watch.take(read(whole[: whole.index("vllm:num_requests_waiting")]), 1.0)
    assert partial.reading.running.value == 2
    assert partial.reading.waiting.value is None
    assert partial.reading.usage.value is None
    assert partial.totals["output_tokens"].value == 1000
    assert partial.rates["output_tokens_per_s"].value is None
    later = watch.take(page(tokens=3000), 2.0)
    assert later.rates["output_tokens_per_s"].value is None  # two seconds' worth in one would be a leap
    assert later.totals["output_tokens"].value == 3000


def two_engines(first: float, second: float) -> Reading:
    return read(vllm_page(tokens=first, usage=0.5) + vllm_page(tokens=second, usage=0.7, engine="1"))


def test_several_engines() -> None:
    watch = Watch("s", two_engines(100, 1000), 0.0)
    shown = watch.take(two_engines(200, 1300), 1.0)
    assert shown.reading.running.value == 4
    assert shown.reading.usage == (pytest.approx(0.6), Origin.DERIVED)
    assert shown.rates["output_tokens_per_s"].value == pytest.approx(400)
    assert [part.usage for part in shown.reading.parts] == [0.5, 0.7]


def test_one_of_several_engines_restarts() -> None:
    watch = Watch("s", two_engines(100, 1000), 0.0)
    shown = watch.take(two_engines(200, 50), 1.0)
    assert shown.totals["output_tokens"].value == 1100 + 100 + 50
    assert shown.rates["output_tokens_per_s"].value is None


def test_an_engine_that_is_new_makes_no_leap() -> None:
    watch = Watch("s", page(tokens=100), 0.0)
    shown = watch.take(two_engines(200, 1_000_000), 1.0)
    assert shown.rates["output_tokens_per_s"].value is None
    assert watch.take(two_engines(300, 1_000_100), 2.0).rates["output_tokens_per_s"].value == 200


@given(
    st.lists(
        st.tuples(st.floats(0, 1e9), st.floats(-5, 50), st.booleans(), st.sampled_from(["a", "b"])),
        max_size=30,
    )
)
def test_rates_and_totals_never_go_wrong(steps: list[tuple[float, float, bool, str]]) -> None:
    """Whatever counters, clocks and models do: no negative rate, no total that falls."""
    now, total = 0.0, 0.0
    watch = Watch("s", page(tokens=0), now)
    for tokens, passed, answers, model in steps:
        now += passed
        shown = watch.take(page(tokens=tokens, model=model), now) if answers else watch.failed("x", now)
        rate = shown.rates["output_tokens_per_s"].value
        assert rate is None or rate >= 0
        assert shown.totals["output_tokens"].value >= total
        total = shown.totals["output_tokens"].value
        assert shown.stale_s is None or shown.stale_s >= 0


def test_a_histogram_gives_percentiles_within_its_bounds() -> None:
    name = "vllm:time_to_first_token_seconds"
    labels = 'engine="0",model_name="m"'
    text = (
        f'{name}_bucket{{{labels},le="0.5"}} 10\n{name}_bucket{{{labels},le="1"}} 20\n'
        f'{name}_bucket{{{labels},le="+Inf"}} 21\n{name}_count{{{labels}}} 21\n{name}_sum{{{labels}}} 12\n'
    )
    ttft = Watch("s", page(more=text), 0.0).snapshot(0.0).latency["ttft_s"]
    assert ttft.n == 21
    assert ttft.p50 == pytest.approx(0.525)
    assert ttft.p90 == pytest.approx(0.945)
    assert ttft.p99 is None  # beyond the last bound
    assert ttft.mean == pytest.approx(12 / 21)


def test_a_memory_of_another_size_is_told() -> None:
    config = 'vllm:cache_config_info{{block_size="16",num_gpu_blocks="{}"}} 1\n'
    watch = Watch("s", page(more=config.format(101)), 0.0)
    assert not watch.take(page(tokens=2000, more=config.format(101)), 1.0).marks
    after = watch.take(page(tokens=3000, more=config.format(2001)), 2.0)
    assert [mark.what for mark in after.marks] == ["memory is now 2,000 blocks"]
