"""Lanes on real tensors: one device for all of them, each with a pool of its own at equal bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kvtui.backends.ghost import Stories, contents_of
from kvtui.backends.leader import Leader
from kvtui.backends.nvml import Reading
from kvtui.backends.readings import Readings, process_bytes
from kvtui.backends.torch_carried import Carried
from kvtui.backends.torch_device import Device, told
from kvtui.backends.torch_gemm import Products
from kvtui.backends.torch_kernels import choose
from kvtui.backends.torch_kvtypes import KvType
from kvtui.backends.torch_lane import TorchLane
from kvtui.backends.torch_planes import NO_WINDOW
from kvtui.backends.torch_pool import Shape
from kvtui.backends.torch_sizing import Sizing
from kvtui.backends.wholemodel import WholeModel
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import attention_of, state_bytes
from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import ModelSpec
from kvtui.hardware.names import several
from kvtui.memory.forks import ForkingMemoryManager
from kvtui.serving.cost import CostModel
from kvtui.serving.engine import Engine
from kvtui.serving.measured import DeviceState, StepTimes

if TYPE_CHECKING:
    from kvtui.backends.steptable import StepTable

GPU_LAYERS = 4  # real ones, unless told otherwise: enough to be real, small on somebody's machine


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
        self.all_layers = sum(group.layers for group in model.kv_groups if group.kind != "linear")
        if layers > self.all_layers:
            raise ConfigError(
                f"{model.label} has {self.all_layers} layers with K/V, not {layers}",
                hint=f"--kv-layers {self.all_layers}",
            )
        groups = attention_of(model, tp)
        self.windows = tuple(window for window, _ in groups) or NO_WINDOW
        self.layers = max(layers // len(self.windows), 1)  # with each window
        self._most_alike = max((n for _, n in groups), default=self.all_layers)
        self.assumptions: tuple[str, ...] = ()
        self.readings = Readings(self.device)
        self._tp = tp
        self._predicted_for = ""  # the GPU that the simulator's times are those of
        self.steps = 0  # carried out, of all lanes
        self.tokens = 1  # most that one step computes
        self._products: Products | None = None  # the same for all lanes: they take turns
        self._leader = Leader(resting=self.readings.refresh)  # a driver goes on saying things
        self._carried: list[Carried] = []
        if table is not None and self.windows != NO_WINDOW:
            raise ConfigError(
                f"layers of {model.label} look back differently far: their times are not one table",
                hint="leave --steptimes out, or choose a model without windows",
            )
        if table is not None:
            table.layers, table.facts = self.real_layers, self._facts(tp)
            table.whole = settings.gemm and layers == model.layers
            table.all_layers = model.layers

    def _facts(self, tp: int) -> dict[str, str | int]:
        """What all measured step times have in common."""
        import torch

        shape, dtype = self.shape, KvType("auto", self.device).short
        return {
            "gpu": self.device.label.replace("HBM3", "SXM"),  # as tables call an H100 of that memory
            "model": self.model.name,
            "tp": tp,
            "attention": f"attention core, one layer, {shape.heads}q/{shape.kv_heads}kv/{shape.key_dim}",
            "dtype": dtype,
            "engine": f"PyTorch {torch.__version__}",
        }

    def close(self) -> None:
        """End what is measured in the background."""
        self._leader.close()

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user has to know about what is written."""
        return () if self.table is None else self.table.notes

    @property
    def device_label(self) -> str:
        return self.device.label

    def state(self) -> DeviceState:
        """See `Backend.state`."""
        memory, driver = self.readings.memory, self.readings.driver
        lanes = [carried.lane for carried in self._carried if carried.lane is not None]
        verifiers = [lane.verifier for lane in lanes if lane.verifier is not None]
        return DeviceState(
            label=self.device.label,
            attention=lanes[0].attention.name if lanes else "",
            layers=(self.real_layers, self.all_layers),
            checked=sum(verifier.checked for verifier in verifiers),
            failed=sum(verifier.failed for verifier in verifiers),
            verified=self.settings.verify > 0,
            pool_bytes=memory.pool,
            reserved_bytes=memory.reserved,
            other_bytes=memory.others,
            free_bytes=memory.free,
            process_bytes=process_bytes() if self.device.on_cpu else None,
            busy_pct=driver.gpu_pct,
            power_w=driver.power_w,
            energy_j_per_token=self._energy_per_token(driver),
            temperature_c=driver.temperature_c,
            clock_mhz=driver.sm_clock_mhz,
            held_back=driver.held_back,
            driver_lost=self.readings.lost,
            steps=tuple(means for carried in self._carried if (means := carried.means) is not None),
            predicted_for=self._predicted_for,
            notes=self.notes,
        )

    def _energy_per_token(self, driver: Reading) -> float | None:
        """Of all lanes together, since the first of them began."""
        began = [carried.energy for carried in self._carried if carried.energy is not None]
        tokens = sum(carried.tokens for carried in self._carried)
        return (driver.energy_j - min(began)) / tokens if began and tokens and driver.energy_j else None

    # ---- how large

    def slot_bytes(self, spec: LaneSpec) -> int:
        """See `Backend.slot_bytes`."""
        layers = self.layers if self._apart(spec) else self.layers * len(self.windows)
        return layers * self.layer_bytes(spec)

    def layer_bytes(self, spec: LaneSpec) -> int:
        """Of a token in one layer."""
        return KvType(spec.kv_dtype, self.device).bytes(self.shape.elements, self.shape.kv_heads)

    def _apart(self, spec: LaneSpec) -> bool:
        """Whether a slot of the lane serves the layers of one window only."""
        return spec.manager == "paged" and len(self.windows) > 1

    @property
    def real_layers(self) -> int:
        """Layers with tensors: as many with each window."""
        return self.layers * len(self.windows)

    def whole_layers(self, spec: LaneSpec) -> int:
        """Layers that a slot of the lane would serve if all of the model's had tensors."""
        return self._most_alike if self._apart(spec) else self.all_layers

    def states(self) -> dict[str, Any] | None:
        """What is to be known of layers that keep a state; None where there are none."""
        layers = self.model.layers - self.all_layers
        if not layers:
            return None
        return {
            "layers": layers,
            "held": False,
            "bytes_of_a_request": state_bytes(self.model, self._tp) or None,
        }

    def room_bytes(self, spec: LaneSpec) -> int:
        """Of a token in the buffers of a lane."""
        kind = KvType(spec.kv_dtype, self.device)
        raw = 0 if kind.same else kind.stored.itemsize
        return self.shape.elements * int(kind.plain.itemsize + raw)

    def fit(self, experiment: Experiment, *, asked: bool, lively: bool = False) -> Experiment:
        """See `Sizing.fit`."""
        with told(self.device.label):
            sizing = Sizing(self, experiment)
            slots = sizing.fit(asked=asked, lively=lively)
        self.assumptions = sizing.assumptions
        self.tokens = experiment.rules.max_num_batched_tokens
        self._predicted_for = several(experiment.tp, experiment.gpu.label)
        return replace(experiment, slots=slots, backend=self)

    # ---- lanes

    def carry(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """See `Backend.carry`. Memory is taken when the first step is due."""
        engine.clock = carried = self._new(spec)
        carried.times.stop = carried.release
        return carried.times

    def lead(self, engine: Engine, spec: LaneSpec) -> StepTimes:
        """See `Backend.lead`."""
        carried = self._new(spec)
        carried.alone = False  # it waits for those who watch
        self._leader.lead(engine, carried)
        return carried.times

    def whole(self, cost: CostModel) -> WholeModel:
        """What steps that `cost` predicts come to in all layers of the model."""
        return WholeModel(
            cost,
            real=self.real_layers,
            layers=self.all_layers,
            gemm=self.settings.gemm,
            predicted_for=self._predicted_for,
        )

    def _new(self, spec: LaneSpec) -> Carried:
        """Lanes that are no longer carried out are forgotten, with what they used."""
        self._carried = [carried for carried in self._carried if not carried.released] + [Carried(self, spec)]
        return self._carried[-1]

    def tensors(self, engine: Engine, spec: LaneSpec) -> TorchLane:
        """Tensors for the manager of an engine, warm. What the device raises is not `told` yet."""
        size = engine.manager.block_size
        forks = isinstance(engine.manager, ForkingMemoryManager)
        lane = TorchLane(
            engine.manager,
            self.device,
            self.shape,
            Stories(size) if forks else lambda request: contents_of(request, size),
            layers=self.layers,
            windows=self.windows,
            kv_dtype=spec.kv_dtype,
            longest=engine.rules.max_model_len,
            verify=self.settings.verify,
        )
        choose(lane)
        if self.settings.gemm:
            if self._products is None:
                self._products = Products(self.device, self.model, tp=self._tp, tokens=self.tokens)
            lane.products = self._products
        lane.warm_up(engine)
        return lane
