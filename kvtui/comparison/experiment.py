"""An experiment: one workload, the hardware, and the lanes that replay it. Everything a run depends on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from kvtui.comparison.drafters import assumed_of_drafter
from kvtui.comparison.lane import Lane
from kvtui.comparison.lanes import LaneSpec, named
from kvtui.comparison.layers import assumed_of_states, layers_of, longest, slot_bytes, state_bytes, with_room
from kvtui.comparison.systems import Manager, Site, build
from kvtui.errors import ConfigError
from kvtui.frames.counts import LaneInfo
from kvtui.frames.slo import NO_LIMITS, Slo
from kvtui.hardware.catalogue import GpuSpec, ModelSpec
from kvtui.hardware.kvtypes import token_bytes
from kvtui.hardware.sizing import BatchLimits, Pool, batch_limits, check_given, drafter_bytes, pool
from kvtui.hardware.startup import default_utilization
from kvtui.memory.contiguous import ContiguousMemoryManager
from kvtui.memory.layernames import STATES
from kvtui.serving.engine import Engine
from kvtui.serving.rules import DRAFTING, NEWEST, Rules, release
from kvtui.timing.coefficients import DEFAULT_ENGINE
from kvtui.timing.stepcost import step_cost
from kvtui.traces.workload import Workload
from kvtui.units import DAY_S, LONGEST_S, picoseconds

if TYPE_CHECKING:
    from kvtui.serving.measured import Backend, StepTimes

DEFAULT_MODEL = "llama-3.1-8b"
DEFAULT_GPU = "a10g"
DEFAULT_LANES = (LaneSpec("contiguous"), LaneSpec("paged"))


@dataclass(frozen=True)
class Experiment:
    """What is replayed on what. `slots` and `max_len` are None where hardware and workload decide."""

    workload: Workload
    model: ModelSpec
    gpu: GpuSpec
    lanes: tuple[LaneSpec, ...] = DEFAULT_LANES
    slots: int | None = None  # KV slots of the pool
    pool_from: str = ""  # who said how large the pool is, where it is not estimated
    max_len: int | None = None  # tokens of one request, prompt and answer
    utilization: float | None = None  # share of the GPU; None = vLLM's own, see `share`
    tp: int = 1
    price: float | None = None  # dollars for one GPU an hour; None = the catalogue's example
    engine: str = DEFAULT_ENGINE  # whose step times, see `coefficients.engine`
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    chunked_prefill: bool = True
    policy: str = "fcfs"
    long_prefill_token_threshold: int = 0
    watermark: float = 0.0
    async_scheduling: bool = False
    spec_method: str | None = None  # who drafts, see `Speculation`
    num_speculative_tokens: int = 3
    acceptance: tuple[float, ...] = (0.7,)  # see `AcceptanceRate`
    drafter: ModelSpec | None = None  # who drafts, where it is known
    vllm: str = NEWEST  # whose rules
    slo: Slo = NO_LIMITS  # what requests are to keep
    until_s: float | None = None
    seed: int | None = None  # of a bundled workload
    backend: Backend | None = None  # of lanes that are measured

    def __post_init__(self) -> None:
        drafts = self.num_speculative_tokens if self.spec_method else 0
        lanes = (with_room(spec, self.model, tp=self.tp, drafts=drafts) for spec in self.lanes)
        object.__setattr__(self, "lanes", named(tuple(lanes)))
        if not self.lanes:
            raise ConfigError("there is no lane to run", hint="--lane contiguous --lane paged")
        if self.slots is not None and self.slots < 1:
            raise ConfigError(f"a pool of {self.slots} blocks holds nothing", hint="give --blocks at least 1")
        if self.max_len is not None and self.max_len < 2:
            raise ConfigError(f"a maximum length of {self.max_len} leaves no room for an answer")
        if self.max_len is not None and self.max_len > self.model.max_positions:
            raise ConfigError(
                f"{self.model.label} reads at most {self.model.max_positions:,} tokens, not {self.max_len:,}",
                hint=f"--max-len {self.model.max_positions}",
            )
        slot_bytes(self.model, "auto", tp=self.tp, drafter=self._drafts)  # refuses what it cannot place
        if self.slots is not None or self.workload.slots is not None:
            most = max(self.pool_slots(spec) // spec.block_size for spec in self.lanes)
            check_given(most, self.pool_from)
        days = self.workload.span_s / DAY_S
        if min(days * DAY_S, self._end_s) >= LONGEST_S:
            raise ConfigError(
                f"the trace spans {days:,.0f} days, a run {LONGEST_S // DAY_S} at most",
                hint="--max-gap 60 jumps over pauses, --start and --duration take a part of it",
            )

    # ---- what follows from it

    @property
    def _end_s(self) -> float:
        """When a run is cut at the latest."""
        return LONGEST_S if self.until_s is None else min(self.until_s, LONGEST_S)

    def pool_slots(self, spec: LaneSpec) -> int:
        """KV slots of a lane. A given pool is that of a paged lane with 16-bit elements: where a slot takes
        fewer bytes there are more of them."""
        slots = self.slots if self.slots is not None else self.workload.slots
        if slots is not None:
            return slots * self._slot_bytes(LaneSpec("paged")) // self._slot_bytes(spec)
        return self.sized(spec).blocks * spec.block_size

    def sized(self, spec: LaneSpec) -> Pool:
        """The estimate of a lane's pool, which holds where none is given. Raises DoesNotFit."""
        return pool(
            self.model,
            self.gpu,
            block_size=spec.block_size,
            utilization=self.utilization,
            tp=self.tp,
            kv_dtype=spec.kv_dtype,
            limits=self.limits,
            vllm=self.vllm,
            drafter=self._drafts,
            slot_bytes=self._slot_bytes(spec),
        )

    def given_slots(self, spec: LaneSpec, slots: int) -> int:
        """Slots of a paged lane with 16-bit elements that take the bytes of so many of this lane's: what
        `slots` has to be for a pool of that size."""
        return slots * self._slot_bytes(spec) // self._slot_bytes(LaneSpec("paged"))

    @property
    def share(self) -> float:
        """`gpu_memory_utilization`: as asked, or what the vLLM release takes that is not told otherwise."""
        return default_utilization(self.vllm) if self.utilization is None else self.utilization

    @property
    def limits(self) -> BatchLimits:
        """What is let into one step: as asked, or vLLM's own for a server on this GPU."""
        usual = batch_limits(self.gpu)
        return BatchLimits(self.max_num_batched_tokens or usual.tokens, self.max_num_seqs or usual.seqs)

    @property
    def pool_bytes(self) -> int:
        """Bytes of the first lane's pool on one GPU."""
        spec = self.lanes[0]
        return self.pool_slots(spec) * self._taken_bytes(spec)

    @property
    def length_limit(self) -> int:
        """Maximum length of a request: as asked, as the workload says, or the next power of two that holds
        its longest request, cut at what model and pool can hold."""
        return self._length_limit[0]

    @cached_property
    def _length_limit(self) -> tuple[int, str]:
        """The maximum length, and what decided it."""
        asked = self.max_len if self.max_len is not None else self.workload.max_len
        if asked is not None:
            return asked, ""
        longest = max(self.workload.longest, 2)
        pool = min(map(self._longest, self.lanes))
        limits = {
            max(1 << (longest - 1).bit_length(), 2): "the next power of two that holds the longest request, "
            f"{longest:,} tokens",
            self.model.max_positions: f"all that {self.model.label} reads",
            max(pool, 2): "all that the pool holds",
        }
        least = min(limits)
        return least, limits[least]

    def _longest(self, spec: LaneSpec) -> int:
        """Tokens of the longest request that a lane's pool holds."""
        blocks, layers = self.pool_slots(spec) // spec.block_size, self._layers(spec)
        if layers:
            return longest(layers, blocks, spec.block_size, self._rules)
        return blocks * spec.block_size - self._state_slots(spec)

    def _layers(self, spec: LaneSpec) -> tuple[str, ...]:
        """Layers of a lane that tells them apart."""
        return layers_of(self.model, self.tp) if spec.manager == "paged" else ()

    @cached_property
    def rules(self) -> Rules:
        """Scheduler options, those of vLLM's server where nothing else was asked for."""
        rules = self._rules(self.length_limit)
        kept = any(spec.prefix_cache and set(self._layers(spec)) & set(STATES) for spec in self.lanes)
        if kept and not self.chunked_prefill:
            raise ConfigError(
                f"states of {self.model.label} stay cached only where prompts are computed in chunks",
                hint="leave chunked prefill on, or the prefix cache out: --lane paged:prefix_cache=off",
            )
        if not self.chunked_prefill and rules.max_num_batched_tokens < rules.max_model_len:
            raise ConfigError(
                f"without chunked prefill a step of {rules.max_num_batched_tokens:,} tokens cannot take in a "
                f"prompt of up to {rules.max_model_len:,}",
                hint="raise --max-num-batched-tokens, lower --max-len, or leave chunked prefill on",
            )
        return rules

    def _rules(self, max_model_len: int) -> Rules:
        limits = self.limits
        return Rules(
            max_model_len=max_model_len,
            max_num_batched_tokens=limits.tokens,
            max_num_seqs=limits.seqs,
            enable_chunked_prefill=self.chunked_prefill,
            policy=self.policy,
            long_prefill_token_threshold=self.long_prefill_token_threshold,
            watermark=self.watermark,
            async_scheduling=self.async_scheduling,
            spec_method=self.spec_method,
            num_speculative_tokens=self.num_speculative_tokens,
            acceptance=self.acceptance,
            release=release(self.vllm),
        )

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was assumed to run the workload, beyond what its loader assumed."""
        limit, why = self._length_limit
        length = (f"maximum length {limit:,}: {why} (none was given)",) if why else ()
        pool = (f"pool of {self.pool_slots(self.lanes[-1]):,} slots: by {self.pool_from}",)
        given = pool if self.pool_from else self._assumed_of_memory()
        device = self.backend.assumptions if self.backend is not None else ()
        shape = (self.model.assumed,) if self.model.assumed else ()
        return (*shape, *length, *given, *self._assumed_of_rules(), *device)

    def _assumed_of_memory(self) -> tuple[str, ...]:
        if self.slots is not None or self.workload.slots is not None or self.utilization is not None:
            return ()
        return (
            f"{self.share:g} of the GPU's memory is used, as vLLM {self.vllm} does if not told otherwise",
        )

    def _assumed_of_rules(self) -> tuple[str, ...]:
        layers = {layer for spec in self.lanes for layer in self._layers(spec)}
        unsure = {
            "windows of layers": any(layer.startswith("sliding") for layer in layers),
            "states of layers": bool(layers & set(STATES)),
            "asynchronous scheduling": self.async_scheduling,
        }
        said = [
            f"{what}: by the rules of vLLM {DRAFTING[0]}, those of {self.vllm} are not known"
            for what, used in unsure.items()
            if used and self.vllm not in DRAFTING
        ]
        if any(group.kind == "chunked" for group in self.model.kv_groups):
            said.append(
                "layers with chunked attention: stored like those with full attention, vLLM's default"
            )
        if layers & set(STATES):
            size = max(spec.block_size for spec in self.lanes if self._layers(spec))
            said.append(f"blocks of {size:,} tokens: vLLM takes so large ones that one holds a state")
        beside = max(map(self._state_slots, self.lanes))
        said += assumed_of_states(self.model, self.lanes, tp=self.tp, beside=beside)
        said += assumed_of_drafter(
            self.spec_method,
            self._drafts,
            tokens=self.num_speculative_tokens,
            memory_left_out=self.drafter_left_out,
        )
        return tuple(said)

    @property
    def _drafts(self) -> ModelSpec | None:
        """Whose memory a drafter takes."""
        return self.drafter if self.spec_method is not None else None

    @property
    def drafter_left_out(self) -> bool:
        """Whether the pool is an upper bound because a drafter takes some of the memory it was sized from.
        Looking up n-grams takes none."""
        sized = self.slots is None and self.workload.slots is None
        return sized and self.spec_method not in (None, "ngram") and self.drafter is None

    # ---- lanes

    def build(self, *, watched: bool = True) -> tuple[Lane, ...]:
        """Fresh lanes at time 0; `watched` ones can be asked for frames."""
        return tuple(self._lane(spec, watched) for spec in self.lanes)

    def _lane(self, spec: LaneSpec, watched: bool) -> Lane:
        engine, manager = self._engine(spec)
        times = self._times(engine, spec, watched) if spec.measured else None
        info = self._info(spec, manager)
        return Lane(engine, manager, info, spec, watched=watched, times=times, slo=self.slo)

    def _engine(self, spec: LaneSpec) -> tuple[Engine, Manager]:
        site = Site(
            self.workload,
            self.model,
            self.gpu,
            self.rules,
            self.pool_slots(spec),
            self._slot_bytes(spec),
            step_cost(
                *(self.model, self.gpu, spec.kv_dtype),
                tp=self.tp,
                engine=self.engine,
                drafter=self._drafts,
                passes=self.num_speculative_tokens,
            ),
            until_ps=picoseconds(self._end_s),
            layers=self._layers(spec),
            states=self._state_slots(spec),
        )
        return build(spec, site)

    def _times(self, engine: Engine, spec: LaneSpec, watched: bool) -> StepTimes:
        """Let the steps of a lane be carried out: by the lane itself, or ahead of it while it is watched."""
        if self.backend is None:
            raise ConfigError(f"the lane {spec.name} asks for real tensors and there is no device for them")
        if not watched:
            return self.backend.carry(engine, spec)
        engine.clock = times = self.backend.lead(self._engine(spec)[0], spec)
        return times

    def _slot_bytes(self, spec: LaneSpec) -> int:
        """Bytes of a slot on one GPU: of a token, or of what one group of layers stores of it."""
        if spec.manager == "paged":
            return slot_bytes(self.model, spec.kv_dtype, tp=self.tp, drafter=self._drafts)
        drafts = drafter_bytes(self._drafts, spec.kv_dtype, tp=self.tp)
        return token_bytes(self.model, spec.kv_dtype, tp=self.tp) + drafts

    def _state_slots(self, spec: LaneSpec) -> int:
        """Slots that the states of a request fill in a region of its own."""
        if spec.memory == "paged":
            return 0
        drafts = self.num_speculative_tokens if self.spec_method else 0
        return -(-state_bytes(self.model, self.tp, drafts=drafts) // self._slot_bytes(spec))

    def _taken_bytes(self, spec: LaneSpec) -> int:
        """Bytes that a slot takes where the lane runs: a device may hold some of the layers only."""
        if spec.measured and self.backend is not None:
            return self.backend.slot_bytes(spec)
        return self._slot_bytes(spec)

    def _info(self, spec: LaneSpec, manager: Manager) -> LaneInfo:
        most = manager.max_len if isinstance(manager, ContiguousMemoryManager) else 0
        reserves = {
            "max": f"reserves {most:,} each",
            "pow2": "reserves powers of two",
            "exact": "reserves its exact length",
        }
        subtitle = reserves[spec.reserve] if manager.reserves else f"{spec.block_size}-token blocks"
        if manager.tables > 1:
            subtitle += f", {manager.tables} groups of layers"
        if not (manager.reserves or spec.prefix_cache):
            subtitle += ", no prefix cache"
        tokens = manager.blocks * manager.block_size
        if spec.measured:
            subtitle = f"{subtitle}, measured"
        return LaneInfo(
            name=spec.name,
            manager=spec.memory,
            title=spec.name[:1].upper() + spec.name[1:],
            subtitle=subtitle if spec.kv_dtype == "auto" else f"{subtitle}, {spec.kv_dtype}",
            blocks=manager.blocks,
            block_size=manager.block_size,
            region_blocks=manager.region_blocks,
            pool_tokens=tokens,
            pool_bytes=tokens * self._taken_bytes(spec),
            label="measured" if spec.measured else "simulated",
        )

    # ---- for titles

    @property
    def label(self) -> str:
        """How its times are known."""
        kinds = {spec.measured for spec in self.lanes}
        return "simulated and measured" if len(kinds) > 1 else "measured" if True in kinds else "simulated"

    @property
    def trace_name(self) -> str:
        return self.workload.name

    @property
    def model_label(self) -> str:
        return self.model.label

    @property
    def gpu_label(self) -> str:
        if self.backend is not None and self.label == "measured":
            return self.backend.device_label
        gpu = self.gpu.label if self.tp == 1 else f"{self.tp} x {self.gpu.label}"
        return gpu if self.backend is None else f"{gpu} and {self.backend.device_label}"

    @property
    def blocks(self) -> int:
        """Blocks of the last lane, the paged one of two."""
        spec = self.lanes[-1]
        return self.pool_slots(spec) // spec.block_size

    @property
    def block_size(self) -> int:
        return self.lanes[-1].block_size
