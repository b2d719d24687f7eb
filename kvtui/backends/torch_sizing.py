"""How large the pools of real lanes are: never more than a share of what is free on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtui.backends.torch_device import CPU_BYTES, SHARE
from kvtui.backends.torch_gemm import weight_bytes
from kvtui.backends.torch_working import device_bytes, lane_bytes, slot_bytes, step_bytes, verify_bytes
from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import LaneSpec
from kvtui.comparison.layers import layers_of
from kvtui.errors import BackendError, ConfigError

if TYPE_CHECKING:
    from kvtui.backends.torch_backend import TorchBackend

MIB = 1 << 20
LIVELY_S = 0.04  # of a step with a full pool
LEAST_SLOTS = 4096  # without which the lanes of a demonstration do not differ
PASSES = 4  # through the bytes of a step: the gather reads and writes them, attention reads, and its own work


class Sizing:
    """Decides on the pools of an experiment's real lanes. `assumptions` say what was cut."""

    def __init__(self, backend: TorchBackend, experiment: Experiment) -> None:
        """Raises ConfigError where there are no tensors for what a lane is to store."""
        self._backend = backend
        self._experiment = experiment
        self._specs = [spec for spec in experiment.lanes if spec.backend == backend.name]
        self._tokens = experiment.rules.max_num_batched_tokens
        self._longest = experiment.rules.max_model_len
        self._allowance = backend.device.allowance(backend.settings.share)
        backend.device.limit(self._allowance)
        self.assumptions: tuple[str, ...] = ()
        if any("*" in layer for layer in layers_of(backend.model, experiment.tp)):
            raise ConfigError(
                f"layers of {backend.model.label} differ in their K/V heads: there are no tensors for these",
                hint="choose a model whose layers are alike, or let it be simulated",
            )

    def fit(self, *, asked: bool, lively: bool) -> int | None:
        """Slots for `Experiment.slots`. Where that size was `asked` for, it is that or an error; else it is
        cut to what the device may hold. `lively`: as many layers as a GPU has room for, and pools small
        enough for quick steps."""
        backend, tried = self._backend, self._experiment
        wanted = max(tried.given_slots(spec, tried.pool_slots(spec)) for spec in self._specs)
        largest = max(spec.block_size for spec in self._specs)
        if lively and not backend.device.on_cpu:
            backend.layers = self._most_layers(wanted)
        most = self._most_slots()
        if most < largest or (asked and wanted > most):
            raise self._no_room(wanted, most, largest)
        why = f"{self._limit()} for {len(self._specs)}"
        if lively and (quick := max(self._lively_slots(), LEAST_SLOTS)) < most:
            most, why = quick, "for quick steps"
        self._say_what_differs()
        if wanted <= most:
            return tried.slots
        slots = most // largest * largest
        cut = f"pools cut to {slots:,} slots: {why} on {backend.device_label}"
        self.assumptions = (cut, *self.assumptions)
        return slots

    def _say_what_differs(self) -> None:
        """States are not held, and a CPU keeps in 32 bits what is counted as 16."""
        if (states := self._backend.states()) is not None:
            words = f"states of {states['layers']} layers are not held on the device"
            size = states["bytes_of_a_request"]
            room = f"{size / MIB:,.1f} MiB a request stay empty in the pools" if size else "nor counted"
            self.assumptions = (*self.assumptions, f"{words}: {room}, and no time goes into them")
        kinds = {spec.kv_dtype for spec in self._specs}
        if self._backend.device.on_cpu and "auto" in kinds and len(kinds) > 1:
            words = "on a CPU, K/V of lanes without a kv_dtype takes 32 bits a number, twice what is counted"
            self.assumptions = (*self.assumptions, words)

    def _left(self) -> int:
        """Bytes that may be taken for K/V: what is allowed less all else that the lanes need."""
        backend, device = self._backend, self._backend.device
        needed = step_bytes(device, backend.shape, tokens=self._tokens, longest=self._longest)
        needed += device_bytes(device)
        needed += len(self._specs) * lane_bytes(device, backend.shape, layers=backend.real_layers)
        if backend.settings.gemm:
            needed += weight_bytes(device, backend.model, tp=self._experiment.tp, tokens=self._tokens)
        left = max(self._allowance - needed, 0)
        return left - min(self._to_verify(), left // 2)

    def _to_verify(self) -> int:
        """Bytes for the longest request once more, by itself."""
        backend, work = self._backend, self._experiment.workload
        if not backend.settings.verify:
            return 0
        longest = int((work.prompt + work.output).max(initial=0))
        return verify_bytes(backend.device, backend.shape, layers=backend.real_layers, longest=longest)

    def _bytes(self, spec: LaneSpec) -> int:
        """Of a slot: in the pool, in buffers of at most as many slots of one layer, and to read it."""
        backend, room = self._backend, self._backend.room_bytes(spec)
        read = slot_bytes(backend.device, backend.shape, room=room)
        return backend.slot_bytes(spec) + room + read

    def _most_slots(self) -> int:
        each = self._left() // len(self._specs)
        return min(self._experiment.given_slots(spec, each // self._bytes(spec)) for spec in self._specs)

    def _most_layers(self, slots: int) -> int:
        """Layers for which a pool of so many slots is allowed in each lane, up to all of the model's."""
        each, layer = self._left() // len(self._specs), max(map(self._backend.room_bytes, self._specs))
        return max(1, min(self._backend.all_layers, each // (slots * layer) - 1))

    def _lively_slots(self) -> int:
        """Slots of a pool that is read in the time of a lively step."""
        passed = PASSES * max(map(self._backend.slot_bytes, self._specs))
        return int(self._backend.device.copied_bytes_per_s() * LIVELY_S / passed)

    def _limit(self) -> str:
        share = self._backend.settings.share
        if self._backend.device.on_cpu and share is None:
            return f"{CPU_BYTES // MIB} MiB of tensors"
        return f"{share or SHARE:.0%} of the free memory"

    def _no_room(self, wanted: int, most: int, unit: int) -> BackendError:
        tried = self._experiment
        need = sum(tried.pool_slots(spec) * self._bytes(spec) for spec in self._specs) / MIB
        return BackendError(
            f"{len(self._specs)} pools of {wanted:,} slots in {self._backend.real_layers} layers and their "
            f"buffers need {need:,.0f} MiB; {self._limit()} on {self._backend.device_label} leave "
            f"{self._left() / MIB:,.0f} MiB for them",
            hint=f"at most --blocks {max(most // unit, 0):,}, fewer --kv-layers or a larger --device-share",
        )
