"""Lanes on real tensors: one device for all of them, each with a pool of its own at equal bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kvtui.backends.ghost import contents_of
from kvtui.backends.leader import Leader
from kvtui.backends.nvml import Reading
from kvtui.backends.readings import Readings
from kvtui.backends.torch_device import CPU_BYTES, SHARE, Device, told
from kvtui.backends.torch_gemm import Products, weight_bytes
from kvtui.backends.torch_kernels import choose
from kvtui.backends.torch_lane import WARM_UP, TorchLane
from kvtui.backends.torch_pool import Shape
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import layers_of
from kvtui.errors import BackendError, ConfigError
from kvtui.hardware.catalogue import ModelSpec
from kvtui.serving.engine import Engine
from kvtui.serving.measured import DeviceState, StepTimes
from kvtui.serving.plan import Plan

if TYPE_CHECKING:
    from kvtui.backends.steptable import StepTable

GPU_LAYERS = 4  # real ones, unless told otherwise: enough to be real, small on somebody's machine
MIB = 1 << 20
SHORT = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}  # as tables call the types
LIVELY_S = 0.04  # of a step with a full pool
LEAST_SLOTS = 4096  # without which the lanes of a demonstration do not differ


@dataclass(frozen=True, slots=True)
class Settings:
    """What `kvtui --backend torch` can say. None = as suits the device."""

    device: str = "auto"
    kv_layers: int | None = None
    share: float | None = None  # of the device's free memory
    verify: int = 0  # check every so many steps; 0 = never
    gemm: bool = False  # carry the model's matrix products out as well


class TorchBackend:
    """See `measured.Backend`. `table` takes note of every step, for calibration."""

    name = "torch"

    def __init__(
        self, model: ModelSpec, settings: Settings, *, tp: int = 1, table: StepTable | None = None
    ) -> None:
        self.device = Device(settings.device)
        self.model = model
        self.shape = Shape.of(model, tp=tp)
        self.settings = settings
        self.table = table
        layers = settings.kv_layers or (1 if self.device.on_cpu else GPU_LAYERS)
        if layers > model.layers:
            raise ConfigError(
                f"{model.label} has {model.layers} layers, not {layers}", hint=f"--kv-layers {model.layers}"
            )
        self.layers = layers
        self.assumptions: tuple[str, ...] = ()
        self.readings = Readings(self.device)
        self._tp = tp
        self._products: Products | None = None  # the same for all lanes: they take turns
        self._leader = Leader()
        self._carried: list[Carried] = []
        if table is not None:
            table.layers, table.facts = layers, self._facts(tp)
            table.whole = settings.gemm and layers == model.layers

    def _facts(self, tp: int) -> dict[str, str | int]:
        """What all measured step times have in common."""
        import torch

        shape, dtype = self.shape, SHORT[str(self.device.dtype).removeprefix("torch.")]
        return {
            "gpu": self.device.label.replace("HBM3", "SXM"),  # as tables call an H100 of that memory
            "model": self.model.name,
            "tp": tp,
            "attention": f"attention core, one layer, {shape.heads}q/{shape.kv_heads}kv/{shape.key_dim}",
            "dtype": dtype,
            "kv_dtype": dtype,
            "engine": f"PyTorch {torch.__version__}",
        }

    def close(self) -> None:
        """End what is measured in the background."""
        self._leader.close()

    @property
    def device_label(self) -> str:
        return self.device.label

    @property
    def slot_bytes(self) -> int:
        """Bytes that a token takes in the real layers."""
        return self.layers * self._layer_bytes

    @property
    def _layer_bytes(self) -> int:
        return self.shape.elements * int(self.device.dtype.itemsize)

    def state(self) -> DeviceState:
        """See `Backend.state`."""
        memory, driver = self.readings.memory, self.readings.driver
        lanes = [carried.lane for carried in self._carried if carried.lane is not None]
        verifiers = [lane.verifier for lane in lanes if lane.verifier is not None]
        return DeviceState(
            label=self.device.label,
            attention=lanes[0].attention.name if lanes else "",
            layers=(self.layers, self.model.layers),
            checked=sum(verifier.checked for verifier in verifiers),
            failed=sum(verifier.failed for verifier in verifiers),
            verified=self.settings.verify > 0,
            pool_bytes=memory.pool,
            reserved_bytes=memory.reserved,
            other_bytes=memory.others,
            free_bytes=memory.free,
            busy_pct=driver.gpu_pct,
            power_w=driver.power_w,
            energy_j_per_token=self._energy_per_token(driver),
            temperature_c=driver.temperature_c,
            clock_mhz=driver.sm_clock_mhz,
            held_back=driver.held_back,
        )

    def _energy_per_token(self, driver: Reading) -> float | None:
        """Of all lanes together, since the first of them began."""
        began = [carried.energy for carried in self._carried if carried.energy is not None]
        tokens = sum(carried.tokens for carried in self._carried)
        return (driver.energy_j - min(began)) / tokens if began and tokens and driver.energy_j else None

    # ---- how large

    def fit(self, experiment: Experiment, *, asked: bool, lively: bool = False) -> Experiment:
        """The experiment with pools that the device may hold. Where their size was `asked` for, it is that or
        an error; else they are cut, and `assumptions` says so. `lively`: as many layers as a GPU has room
        for, and pools small enough for quick steps."""
        specs = [spec for spec in experiment.lanes if spec.backend == self.name]
        self._tokens = experiment.rules.max_num_batched_tokens
        if layers_of(self.model, experiment.tp):
            raise ConfigError(
                f"layers of {self.model.label} have several block tables, for which there are no tensors",
                hint="choose a model without sliding windows and Mamba layers",
            )
        for spec in specs:
            if spec.manager not in ("contiguous", "paged"):
                raise ConfigError(
                    f"{spec.manager} lanes are simulated only",
                    hint="say backend=torch at a contiguous or paged lane in place of --backend torch",
                )
            if spec.kv_dtype != "auto":
                raise ConfigError(
                    f"tensors have no {spec.kv_dtype} lane",
                    hint="leave kv_dtype out, or let that lane be simulated",
                )
        wanted = max(experiment.pool_slots(spec) for spec in specs)
        largest = max(spec.block_size for spec in specs)
        if lively and not self.device.on_cpu:
            self.layers = self._most_layers(wanted, len(specs))
        most = self._most_slots(len(specs))
        if most < largest or (asked and wanted > most):
            raise self._no_room(wanted, most, len(specs), largest)
        why = f"{self._limit()} for {len(specs)}"
        if lively and (quick := max(self._lively_slots(), LEAST_SLOTS)) < most:
            most, why = quick, "for quick steps"
        slots = min(wanted, most) // largest * largest
        if slots < wanted:
            self.assumptions = (f"pools cut to {slots:,} slots: {why} on {self.device_label}",)
        return replace(experiment, slots=slots, backend=self)

    def _left(self) -> int:
        """Bytes that may be taken for K/V."""
        allowance = self.device.allowance(self.settings.share)
        if not self.settings.gemm:
            return allowance
        return max(allowance - weight_bytes(self.device, self.model, tp=self._tp, tokens=self._tokens), 0)

    def _most_slots(self, lanes: int) -> int:
        """Slots of each lane: its pool, and buffers of at most as many slots of one layer."""
        allowance = self._left() // lanes
        return allowance // ((self.layers + 1) * self._layer_bytes)

    def _most_layers(self, slots: int, lanes: int) -> int:
        """Layers for which a pool of so many slots is allowed in each lane, up to all of the model's."""
        allowance = self._left() // lanes
        return max(1, min(self.model.layers, allowance // (slots * self._layer_bytes) - 1))

    def _lively_slots(self) -> int:
        """Slots of a pool that is read in the time of a lively step: gathered, then attended to."""
        passes = (
            4  # through the bytes: read and written by the gather, read by the attention, and its own work
        )
        return int(self.device.copied_bytes_per_s() * LIVELY_S / (passes * self.slot_bytes))

    def _limit(self) -> str:
        if self.device.on_cpu and self.settings.share is None:
            return f"{CPU_BYTES // MIB} MiB of tensors"
        return f"{self.settings.share or SHARE:.0%} of the free memory"

    def _no_room(self, wanted: int, most: int, lanes: int, unit: int) -> BackendError:
        need = lanes * wanted * (self.layers + 1) * self._layer_bytes / MIB
        allowed = self._left() / MIB
        return BackendError(
            f"{lanes} pools of {wanted:,} slots in {self.layers} layers and their buffers need {need:,.0f} "
            f"MiB; {self._limit()} on {self.device_label} are {allowed:,.0f} MiB",
            hint=f"at most --blocks {max(most // unit, 0):,}, fewer --kv-layers or a larger --device-share",
        )

    # ---- lanes

    def carry(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """See `Backend.carry`. Memory is taken when the first step is due."""
        engine.clock = carried = self._new()
        carried.times.stop = carried.release
        return carried.times

    def lead(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """See `Backend.lead`."""
        carried = self._new()
        self._leader.lead(engine, carried)
        return carried.times

    def _new(self) -> Carried:
        """Lanes that are no longer carried out are forgotten, with what they used."""
        self._carried = [carried for carried in self._carried if not carried.released] + [Carried(self)]
        return self._carried[-1]

    def tensors(self, engine: Engine) -> TorchLane:
        """Tensors for the manager of an engine, warm."""
        size = engine.manager.block_size
        lane = TorchLane(
            engine.manager,
            self.device,
            self.shape,
            lambda request: contents_of(request, size),
            layers=self.layers,
            longest=engine.rules.max_model_len,
            verify=self.settings.verify,
        )
        choose(lane)
        if self.settings.gemm:
            if self._products is None:
                with told(self.device.label):
                    self._products = Products(self.device, self.model, tp=self._tp, tokens=self._tokens)
            lane.products = self._products
        lane.warm_up(engine)
        return lane


class Carried:
    """One lane as it is measured: the times, and what is told about them."""

    def __init__(self, backend: TorchBackend) -> None:
        self._backend = backend
        self.lane: TorchLane | None = None
        self._engine: Engine | None = None
        self.energy: float | None = None  # of the device when the lane started
        self.released = False
        self.times = StepTimes(report=self.report)

    @property
    def tokens(self) -> int:
        """Generated so far."""
        return 0 if self._engine is None else self._engine.output_tokens

    def start(self, engine: Engine) -> Carried:
        """Allocate and warm up; the result is the engine's clock."""
        self._engine = engine
        self._backend.device.settle()
        self.lane = self._backend.tensors(engine)
        self._backend.readings.pool_bytes += self.lane.pool.bytes
        self._backend.readings.refresh(now=True)
        self.energy = self._backend.readings.driver.energy_j
        if self._backend.table is not None:
            self.lane.watching = self._backend.table.add
        return self

    def duration(self, engine: Engine, plan: Plan) -> int:
        """See `StepClock`. Raises BackendError where the device has no room or fails."""
        if self.lane is None:
            self.start(engine)
        assert self.lane is not None
        self.times.ps.append(self.lane.duration(engine, plan))
        self._backend.readings.refresh()
        return self.times.ps[-1]

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
            "kv_layers": backend.layers,
            "model_layers": backend.model.layers,
            "gemm": backend.settings.gemm,
            "bytes_per_token": backend.slot_bytes,
            "verify": {"every": backend.settings.verify, "checked": 0, "failed": 0},
        }
        failure = self.times.failure
        if failure is not None:
            base["failure"] = str(failure)
        return base if lane is None else base | self._measured(lane)

    def _measured(self, lane: TorchLane) -> dict[str, Any]:
        backend, verifier = self._backend, lane.verifier
        return {
            "attention": lane.attention.name,
            "allocated_bytes": lane.pool.bytes,
            "buffer_bytes": lane.buffer_bytes,
            "extrapolated": {
                "kv_layers": backend.model.layers,
                "allocated_bytes": lane.pool.bytes // backend.layers * backend.model.layers,
            },
            "steps": len(self.times.ps),
            "warm_up_steps": WARM_UP,
            "seconds": {name: round(seconds, 6) for name, seconds in lane.parts.items()},
            "verify": {
                "every": backend.settings.verify,
                "checked": verifier.checked if verifier else 0,
                "failed": verifier.failed if verifier else 0,
                "first_failure": verifier.first if verifier else None,
                "largest_difference": verifier.difference if verifier and verifier.checked else None,
            },
            **backend.readings.report(),
            "energy_j_per_token": self._energy_per_token(),
        }

    def _energy_per_token(self) -> float | None:
        """Of the whole device, from the start of this lane on: exact where it has the device for itself."""
        now = self._backend.readings.driver.energy_j
        if self.energy is None or now is None or not self.tokens:
            return None
        return round((now - self.energy) / self.tokens, 6)
