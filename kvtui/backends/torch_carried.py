"""One real lane from its first step to its report."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kvtui.backends.torch_device import told
from kvtui.backends.torch_lane import WARM_UP, TorchLane
from kvtui.backends.wholemodel import OF_LAYERS, WholeModel
from kvtui.comparison.lanes import LaneSpec
from kvtui.serving.engine import Engine
from kvtui.serving.measured import StepMeans, StepTimes
from kvtui.serving.plan import Plan

if TYPE_CHECKING:
    from kvtui.backends.torch_backend import TorchBackend


class Carried:
    """One lane as it is measured: the times, and what is told about them."""

    def __init__(self, backend: TorchBackend, spec: LaneSpec) -> None:
        self._backend = backend
        self._spec = spec
        self.lane: TorchLane | None = None
        self._engine: Engine | None = None
        self._whole: WholeModel | None = None
        self.energy: float | None = None  # J that the device had used when the lane started
        self.alone = True  # whether nothing but the lane's own steps went on since
        self._used: float | None = None  # J a token, as of its last step
        self._others = 0  # steps of other lanes that were done before
        self.released = False
        self.times = StepTimes(report=self.report)
        self.times.ended = self.ended

    @property
    def tokens(self) -> int:
        """Generated so far."""
        return 0 if self._engine is None else self._engine.output_tokens

    def start(self, engine: Engine) -> Carried:
        """Allocate and warm up; the result is the engine's clock. Raises BackendError."""
        self._engine, self._whole = engine, self._backend.whole(engine.cost)
        device = self._backend.device
        with told(device.label):
            device.settle()
            self.lane = self._backend.tensors(engine, self._spec)
        self._backend.readings.pool_bytes += self.lane.pool.bytes
        self._backend.readings.refresh(now=True)
        self.energy = self._backend.readings.driver.energy_j
        self._others = self._backend.steps
        if self._backend.table is not None:
            self.lane.watching = partial(self._backend.table.add, self.lane.pool.kind.short)
        return self

    def duration(self, engine: Engine, plan: Plan) -> int:
        """See `StepClock`. Raises BackendError where the device has no room or fails."""
        if self.lane is None:
            self.start(engine)
        assert self.lane is not None
        assert self._whole is not None
        self.times.ps.append(self.lane.duration(engine, plan))
        self._whole.note(plan)
        self._backend.steps += 1
        self._backend.readings.refresh()
        return self.times.ps[-1]

    @property
    def means(self) -> StepMeans | None:
        """Of its steps so far."""
        lane, whole = self.lane, self._whole
        return None if lane is None or whole is None else whole.means(self._spec.name, lane.seconds)

    def ended(self) -> None:
        """Its last step is done: what the device has used by now is the lane's, if nobody else's steps came
        between."""
        backend = self._backend
        if self.released or not self.alone or backend.steps - self._others != len(self.times.ps):
            return
        backend.readings.refresh(now=True)
        now = backend.readings.driver.energy_j
        if self.energy is not None and now is not None and self.tokens:
            self._used = round((now - self.energy) / self.tokens, 6)

    def release(self) -> None:
        """Give the tensors back; what was measured stays."""
        last, self.released = self.report(), True
        self.times.report = lambda: last
        if self.lane is not None:
            self._backend.readings.pool_bytes -= self.lane.pool.bytes
        self.lane = None
        if self._engine is not None:
            self._engine.clock = None
        self._backend.device.give_back()

    def report(self) -> dict[str, Any]:
        """The lane's `backend` in the report."""
        backend, lane = self._backend, self.lane
        device = backend.device
        base = {
            "name": backend.name,
            "device": str(device.device),
            "device_name": device.label,
            "dtype": str(device.dtype).removeprefix("torch."),
            "kv_layers": backend.real_layers,
            "model_layers": backend.all_layers,
            "states": backend.states(),
            "gemm": backend.settings.gemm,
            "bytes_per_token": backend.slot_bytes(self._spec),
            "verify": {"every": backend.settings.verify, "checked": 0, "failed": 0},
        }
        if backend.table is not None:
            base["steptimes"] = backend.table.report()
        failure = self.times.failure
        if failure is not None:
            base["failure"] = str(failure)
        return base if lane is None else base | self._measured(lane)

    def _measured(self, lane: TorchLane) -> dict[str, Any]:
        backend, verifier = self._backend, lane.verifier
        assert self._whole is not None
        means, parts = self.means, self._whole.extrapolated(lane.seconds)
        return {
            "attention": lane.attention.name,
            "allocated_bytes": lane.pool.bytes,
            "stored_as": lane.pool.kind.dtype_name,
            "buffer_bytes": lane.buffer_bytes,
            "extrapolated": {
                "kv_layers": backend.all_layers,
                "bytes_per_token": backend.all_layers * backend.layer_bytes(self._spec),
                "allocated_bytes": lane.pool.bytes // lane.pool.layers * backend.whole_layers(self._spec),
                "seconds": {name: round(s, 6) for name, s in parts.items() if name in OF_LAYERS},
            },
            "step": None if means is None else _step(means),
            "derived": self._whole.derived(lane.seconds),
            "host_bytes": lane.pool.host.bytes,
            "steps": len(self.times.ps),
            "warm_up_steps": WARM_UP,
            "seconds": {name: round(seconds, 6) for name, seconds in lane.seconds.items()},
            "verify": {
                "every": backend.settings.verify,
                "checked": verifier.checked if verifier else 0,
                "failed": verifier.failed if verifier else 0,
                "slots_followed": lane.ghost.reads if lane.ghost else 0,
                "first_failure": verifier.first if verifier else None,
                "largest_difference": verifier.difference if verifier and verifier.checked else None,
                "tolerance": verifier.tolerance if verifier else None,
            },
            **backend.readings.report(),
            "energy_j_per_token": self._used,
        }


def _step(means: StepMeans) -> dict[str, Any]:
    """Seconds of a step on average, each by how it is known."""
    known = {
        "measured_s": means.measured_s,
        "extrapolated_s": means.all_layers_s,
        "derived_s": means.model_s,
    }
    return {name: None if s is None else round(s, 9) for name, s in known.items()}
