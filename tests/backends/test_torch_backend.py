"""Experiments on real tensors: what they measure, say, refuse and survive."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kvtui.answers.report import summary
from kvtui.answers.table import table
from kvtui.comparison.checkpoints import Checkpoints
from kvtui.comparison.lane import Lane
from kvtui.errors import BackendError, ConfigError
from tests.backends.runs import experiment, on_cpu, plain
from tests.backends.tensors import torch
from tests.comparison.test_checkpoints import same
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.torch


def finished(**settings: Any) -> tuple[dict[str, Any], tuple[Lane, ...]]:
    tried = on_cpu(experiment(), **settings)
    lanes = tried.build(watched=False)
    for lane in lanes:
        lane.run()
    return summary(tried, lanes), lanes


def test_a_run_is_measured_and_verified() -> None:
    report, lanes = finished()
    assert report["config"]["time"] == "measured"
    peaks = []
    for lane, said in zip(lanes, report["lanes"], strict=True):
        backend = said["backend"]
        assert (backend["name"], backend["device"]) == ("torch", "cpu")
        assert backend["verify"]["checked"] > 50
        assert backend["verify"]["failed"] == 0
        assert said["requests"]["finished"] == 8
        assert said["cost"] is None  # nobody said what this device costs
        assert set(said["expected_error"].values()) == {None}  # nothing is predicted
        assert lane.times is not None
        assert len(lane.times.ps) == said["steps"] == backend["steps"]
        assert said["busy_s"] == pytest.approx(sum(backend["seconds"].values()), rel=1e-3)
        assert backend["allocated_bytes"] == (256 // 8 + 1) * 8 * backend["bytes_per_token"]
        assert backend["extrapolated"]["allocated_bytes"] == 22 * backend["allocated_bytes"]
        whole, seconds = backend["extrapolated"]["seconds"], backend["seconds"]
        assert set(whole) == {"write", "attention"}  # tables are made once for all layers
        assert whole["attention"] == pytest.approx(22 * seconds["attention"], rel=1e-3)
        step, derived = backend["step"], backend["derived"]
        assert step["measured_s"] == pytest.approx(sum(seconds.values()) / said["steps"], rel=1e-3)
        assert step["measured_s"] < step["extrapolated_s"] < step["derived_s"]
        assert derived["seconds"] == pytest.approx(step["derived_s"] * said["steps"], rel=1e-3)
        assert derived["predicted_for"] == "A10G 24 GB"
        peaks.append(said["batch"]["peak"])
    assert (
        report["lanes"][0]["backend"]["allocated_bytes"] == report["lanes"][1]["backend"]["allocated_bytes"]
    )
    assert peaks == [2, 7]  # at equal bytes
    text = table(report)
    assert "measured" in text
    assert "requests checked" in text
    rows = {line[:24].strip(): line[24:].split() for line in text.splitlines()}
    assert len(rows["a step, measured"]) == 4
    assert all(rows[name][0].startswith("~") for name in ("all layers, extrap.", "whole model, derived"))
    assert "all else as predicted for A10G 24 GB" in text


def test_what_is_shown_follows_what_is_measured() -> None:
    tried = on_cpu(experiment("contiguous", "paged:backend=torch"))
    simulated, shown = tried.build()
    assert [lane.info.label for lane in (simulated, shown)] == ["simulated", "measured"]
    assert tried.label == "simulated and measured"
    saved = Checkpoints(shown, every=5)
    frames = [shown.frame()]
    while shown.step():
        saved.note(shown)
        frames.append(shown.frame())
    times = shown.times
    assert times is not None
    times.wait(len(times.ps))  # whoever measures may still be busy with the end of the last step
    assert times.complete
    assert shown.engine.meter.time == sum(times.ps)
    measured = len(times.ps)
    for step in (3, 0, 11, measured):
        back = saved.at_step(step)
        same(back.frame(), frames[step] if step < len(frames) else shown.frame())
    assert len(times.ps) == measured  # nothing is carried out twice
    assert times.report()["verify"]["failed"] == 0
    shown.close()


def test_other_times_other_batches_but_the_same_requests() -> None:
    report, _ = finished()
    lanes = plain(experiment()).build(watched=False)
    for lane, said in zip(lanes, report["lanes"], strict=True):
        lane.run()
        assert said["output_tokens"] == lane.engine.output_tokens
        assert said["backend"]["name"] == "torch"


def test_a_pool_nobody_asked_for_is_cut_to_what_is_allowed() -> None:
    tried = on_cpu(experiment(slots=None))
    specs = tried.lanes
    taken = sum((tried.pool_slots(spec) + 8) * tried.backend.slot_bytes(spec) for spec in specs)
    assert 100 << 20 < taken <= 384 << 20
    assert any("pools cut" in words and "384 MiB" in words for words in tried.assumptions)


def test_a_pool_that_was_asked_for_and_is_too_large_is_refused() -> None:
    with pytest.raises(BackendError) as error:
        on_cpu(experiment(slots=10**8))
    assert "need" in error.value.message
    assert "--blocks" in str(error.value.hint)


@pytest.mark.parametrize(
    ("lanes", "settings"),
    [
        (["paged:backend=torch,kv_dtype=int4_per_token_head"], {}),
        (["paged:backend=torch"], {"kv_layers": 23}),
    ],
)
def test_what_tensors_cannot_do_is_refused(lanes: list[str], settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        on_cpu(experiment(*lanes), **settings)


def test_heads_that_cannot_be_shared_are_refused() -> None:
    tried = experiment()
    group = tried.model.kv_groups[0]._replace(kv_heads=3)
    with pytest.raises(ConfigError, match="cannot share 3 heads"):
        on_cpu(replace(tried, model=tried.model._replace(kv_groups=(group,))))


def test_without_a_device_nothing_is_measured() -> None:
    with pytest.raises(ConfigError, match="asks for real tensors"):
        experiment("paged:backend=torch").build()


# ---- failures


def breaking(monkeypatch: pytest.MonkeyPatch, error: Exception, *, after: int) -> None:
    """The paged lane's device fails after some steps."""
    from kvtui.backends.torch_lane import TorchLane

    original = TorchLane.forward
    calls = [0]

    def forward(self: TorchLane, batch: Any, watch: Any) -> Any:
        if self._base == 0:
            calls[0] += 1
            if calls[0] > after:
                raise error
        return original(self, batch, watch)

    monkeypatch.setattr(TorchLane, "forward", forward)


FAILURES = [
    (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), "no memory left"),
    (RuntimeError("CUDA error: unspecified launch failure\nCompile with ..."), "failed: CUDA error"),
    (RuntimeError("CUDA error: out of memory"), "no memory left"),
    (RuntimeError("[enforce fail at alloc_cpu.cpp] can't allocate memory: you tried"), "no memory left"),
]


@pytest.mark.parametrize(("error", "words"), FAILURES)
def test_a_failing_device_ends_its_lane_with_a_sentence(
    error: Exception, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking(monkeypatch, error, after=8)
    contiguous, paged = on_cpu(experiment(), verify=0).build()
    while contiguous.step():
        pass
    with pytest.raises(BackendError, match=words) as raised:
        paged.run()
    assert "\n" not in raised.value.message
    assert contiguous.engine.results.finished == 8
    assert paged.ready  # nobody waits for it
    contiguous.close()
    paged.close()


def test_no_room_for_the_tensors_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(*args: Any, **options: Any) -> Any:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has ...")

    lane = on_cpu(experiment("paged:backend=torch")).build(watched=False)[0]
    monkeypatch.setattr(torch, "zeros", zeros)
    with pytest.raises(BackendError, match=r"CPU has no memory left: CUDA out of memory$"):
        lane.run()


LOST = RuntimeError("CUDA error: GPU is lost")


@pytest.mark.parametrize(
    ("where", "error"),
    [
        ("torch_device.Device.settle", LOST),
        ("torch_lane.Decoder", LOST),
        ("torch_backend.choose", LOST),
        ("torch_lane.TorchLane.forward", TypeError("BFloat16 is not supported on MPS")),
    ],
)
def test_a_device_may_be_lost_anywhere(where: str, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane of before keeps what it has measured, and the next one ends with a sentence."""
    from kvtui.backends import torch_backend, torch_device, torch_lane  # noqa: F401

    def lost(*args: Any, **options: Any) -> Any:
        raise error

    one, other = on_cpu(experiment(), verify=0).build(watched=False)
    one.run()
    monkeypatch.setattr(f"kvtui.backends.{where}", lost)
    with pytest.raises(BackendError, match=r"^CPU failed: [^\n]*(GPU is lost|on MPS)[^\n]*$"):
        other.run()
    assert one.times.report()["steps"] > 10
    assert other.times.report()["name"] == "torch"


def test_a_device_may_be_lost_before_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends.torch_device import Device

    def lost(self: Device) -> int:
        raise LOST

    monkeypatch.setattr(Device, "free_bytes", lost)
    with pytest.raises(BackendError, match="GPU is lost"):
        on_cpu(experiment())


def test_a_recording_goes_on_without_a_lane_that_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvtui.recording.filming import Filming

    breaking(monkeypatch, LOST, after=8)
    tried = on_cpu(experiment(), verify=0)
    lanes, stopped = tried.build(), []
    filming = Filming(tmp_path / "run.kvtui", tried)
    filming.run(lanes, lambda: None, lambda lane, error: stopped.append((lane.info.name, error.message)))
    filming.finish(None)
    assert stopped == [("paged", "CPU failed: CUDA error: GPU is lost")]
    assert lanes[0].engine.results.finished == 8


def test_steps_of_the_warm_up_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    from kvtui.backends.torch_lane import WARM_UP, TorchLane

    forward, done = TorchLane.forward, []

    def counting(self: TorchLane, batch: Any, watch: Any) -> Any:
        done.append(len(batch.requests))
        return forward(self, batch, watch)

    monkeypatch.setattr(TorchLane, "forward", counting)
    lane = on_cpu(experiment("paged:backend=torch"), verify=0).build(watched=False)[0]
    lane.engine.clock.start(lane.engine)
    assert done == [0] * WARM_UP
    assert WARM_UP > 0
    tensors = lane.engine.clock.lane
    assert (tensors.parts, len(lane.times.ps)) == ({}, 0)
    assert not tensors.pool.k.any()
    lane.run()
    assert len(done) - WARM_UP == len(lane.times.ps)


# ---- the table of step times


def test_step_times_are_written_as_a_table(tmp_path: Path) -> None:
    from kvtui.backends.steptable import COLUMNS, StepTable

    path = tmp_path / "times.csv"
    steps = StepTable(str(path))
    finished(verify=0, table=steps)
    assert steps.write() > 3
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    assert set(rows[0]) == set(COLUMNS)
    assert {row["phase"] for row in rows} == {"decode", "prefill"}
    for row in rows:
        assert float(row["measured_ms"]) > 0
        assert row["op"] == "attention core, one layer, 32q/4kv/64"
        assert (row["gpu"], row["dtype"]) == ("CPU", "fp32")
    with pytest.raises(ConfigError, match="exists"):
        StepTable(str(path))


def test_whole_steps_are_rows_of_their_own(tmp_path: Path) -> None:
    """With the matrix products and K/V of all layers."""
    from kvtui.backends.steptable import StepTable

    steps = StepTable(str(tmp_path / "times.csv"))
    model = experiment().model._replace(
        layers=2, hidden=64, intermediate=96, vocab=512, heads=4, kv_heads=2, head_dim=16
    )
    group = model.kv_groups[0]._replace(layers=2, kv_heads=2, head_dim=16)
    tried = replace(experiment(requests=4), model=model._replace(kv_groups=(group,)))
    lanes = on_cpu(tried, verify=2, table=steps, gemm=True, kv_layers=2, share=0.01).build(watched=False)
    for lane in lanes:
        lane.run()
        said = lane.times.report()
        assert said["verify"]["failed"] == 0
        assert said["gemm"]
        assert said["seconds"]["gemm"] > 0
    steps.write()
    with steps.path.open() as stream:
        rows = list(csv.DictReader(stream))
    whole = {(r["phase"], r["batch_size"], r["context_len"]): r for r in rows if r["op"] == "full_model"}
    for row in rows:
        if row["scope"] == "kernel":
            step = whole[row["phase"], row["batch_size"], row["context_len"]]
            assert step["scope"] == "step"
            assert float(step["measured_ms"]) > float(row["measured_ms"])


@needs_shared
def test_the_table_has_the_columns_of_the_reference() -> None:
    from kvtui.backends.steptable import COLUMNS

    with (SHARED / "reference" / "step_times.csv").open() as stream:
        assert tuple(next(csv.reader(stream))) == COLUMNS


# ---- kernels


class Gathers:
    """A kernel that does what the default does, up to `off`."""

    name = "gathers"
    off = 0.0

    def __init__(self, lane: Any) -> None:
        self._inner = lane.attention

    def prepare(self, batch: Any) -> None:
        self._inner.prepare(batch)

    def attend(self, layer: int, q: Any) -> Any:
        return self._inner.attend(layer, q) + self.off


class Wrong(Gathers):
    name = "wrong"
    off = 10.0


class Missing:
    name = "missing"

    def __init__(self, lane: Any) -> None:
        raise ModuleNotFoundError("No module named 'missing'")


@pytest.mark.parametrize(
    ("kernels", "chosen"),
    [((Missing, Wrong, Gathers), "gathers"), ((Missing, Wrong), "gather + SDPA"), ((), "gather + SDPA")],
)
def test_the_first_kernel_that_agrees_is_taken(
    kernels: tuple[Any, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvtui.backends import torch_kernels

    lane = on_cpu(experiment("paged:backend=torch")).build(watched=False)[0]
    engine = lane.engine
    tensors = engine.clock._backend.tensors(engine, lane.spec)
    monkeypatch.setattr(torch_kernels, "KERNELS", kernels)
    monkeypatch.setattr(torch_kernels, "suits", lambda lane: True)
    verdicts = dict(torch_kernels.probed(tensors))
    torch_kernels.choose(tensors)
    assert tensors.attention.name == chosen
    assert verdicts.get("missing", "").startswith("No module") or Missing not in kernels
    assert verdicts.get("wrong", "").startswith("differs") or Wrong not in kernels
    assert not tensors.pool.k.any()  # as if nothing had been
