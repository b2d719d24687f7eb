"""Step times that another package estimates: asked once, exact over leaps, and refused in a sentence."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import gpu, model
from kvtui.timing import aiconfigurator
from kvtui.timing.aiconfigurator import TableCost, table
from kvtui.timing.stepcost import TABLES, step_cost

MS = 10**9


class Linear:
    """Answers as the package does: 5 ms, 0.01 ms a request, 1 us a stored token; 0.02 ms a prompt token and
    1 ns a pair."""

    def predict_decode_latency(self, bs: int, isl: int) -> float:
        return 5 + 0.01 * bs + 1e-3 * bs * isl

    def predict_prefill_latency(self, bs: int, isl: int) -> float:
        return 5 + 0.02 * bs * isl + 1e-6 * bs * isl * (isl + 1) / 2


COST = TableCost.measured(Linear())


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[tuple[Any, ...]]]:
    """A package of that name that knows one model; what it was asked."""
    asked: list[tuple[Any, ...]] = []

    def compile(name: str, system: str, backend: str, **how: Any) -> Linear:
        asked.append((name, system, backend, how))
        if "Llama" not in name:
            raise RuntimeError("no such model\nand more of it")
        return Linear()

    sdk = ModuleType("aiconfigurator_core.sdk")
    sdk.EngineHandle = SimpleNamespace(compile=compile)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "aiconfigurator_core", ModuleType("aiconfigurator_core"))
    monkeypatch.setitem(sys.modules, "aiconfigurator_core.sdk", sdk)
    (tmp_path / "model_configs").mkdir()
    for name in ("nvidia--Llama-3.1-8B-Instruct-FP8", "meta-llama--Meta-Llama-3.1-8B", "Qwen--Qwen3-32B"):
        (tmp_path / "model_configs" / f"{name}_config.json").touch()
    found = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(aiconfigurator, "find_spec", lambda name: found)
    table.cache_clear()
    yield asked
    table.cache_clear()


@given(st.integers(1, 1500), st.integers(1, 9000))
def test_what_is_linear_comes_out(decodes: int, each: int) -> None:
    expected = 5 + 0.01 * decodes + 1e-3 * decodes * each
    assert COST.step(decodes, decodes * each, 0, 0) == pytest.approx(expected * MS, rel=1e-4)
    alone = COST.step(0, 0, each, each * (each + 1) // 2)
    assert alone == pytest.approx((5 + 0.02 * each + 1e-6 * each * (each + 1) / 2) * MS, rel=1e-3)
    both = COST.step(decodes, decodes * each, 512, 512 * 513 // 2)
    assert both >= max(COST.step(decodes, decodes * each, 0, 0), COST.step(0, 0, 512, 512 * 513 // 2))


@given(st.integers(0, 1500), st.integers(0, 10**6), st.integers(0, 300))
def test_a_leap_is_the_sum_of_its_steps(decodes: int, context: int, steps: int) -> None:
    singly = sum(COST.step(decodes, context + i * decodes, 0, 0) for i in range(steps))
    assert COST.leap(decodes, context, steps) == singly


def test_it_is_asked_once_under_its_own_names(package: list[tuple[Any, ...]]) -> None:
    llama, card = model("llama-3.1-8b"), gpu("h100-sxm")
    costs = [step_cost(llama, card, "fp8", tp=2, engine=TABLES) for _ in range(2)]
    assert costs == [COST, COST]
    how = {"tp_size": 2, "kvcache_quant_mode": "fp8"}
    assert package == [("meta-llama/Meta-Llama-3.1-8B", "h100_sxm", "vllm", how)]


def test_what_it_does_not_know_is_refused(package: list[tuple[Any, ...]]) -> None:
    llama, card = model("llama-3.1-8b"), gpu("h100-sxm")
    with pytest.raises(ConfigError, match=r"no times of .*Qwen3-8B on 1 x h100-sxm: no such model$"):
        step_cost(model("qwen3-8b"), card, "auto", tp=1, engine=TABLES)
    with pytest.raises(ConfigError, match="no times of a10g"):
        step_cost(llama, gpu("a10g"), "auto", tp=1, engine=TABLES)
    with pytest.raises(ConfigError, match="KV of type int8"):
        step_cost(llama, card, "int8_per_token_head", tp=1, engine=TABLES)
    with pytest.raises(ConfigError, match="no times of a drafter"):
        step_cost(llama, card, "auto", tp=1, engine=TABLES, drafter=llama, passes=1)


def test_without_the_package_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aiconfigurator, "find_spec", lambda name: None)
    table.cache_clear()
    with pytest.raises(ConfigError, match="which is not installed"):
        step_cost(model("llama-3.1-8b"), gpu("h100-sxm"), "auto", tp=1, engine=TABLES)


@pytest.mark.aiconfigurator
def test_the_real_package_answers() -> None:
    pytest.importorskip("aiconfigurator_core")
    cost = table("meta-llama/Meta-Llama-3.1-8B", "h100-sxm", 1, "auto")
    assert 2 * MS < cost.step(1, 1024, 0, 0) < cost.step(256, 256 * 1024, 0, 0) < 200 * MS
    assert 10 * MS < cost.step(0, 0, 2048, 2048 * 2049 // 2) < 500 * MS
