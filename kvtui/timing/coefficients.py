"""What was fitted to measurements: the constants of the time model and the errors they leave.

`Forms` belongs to kernels, `EngineProfile` to the software around them. Both come from data/steptime.json,
which tests/timing/fit_step_times.py writes; `kvtui steptime --fit` writes a profile of the user's own.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kvtui.errors import ConfigError
from kvtui.hardware.catalogue import nearest

DEFAULT_ENGINE = "vllm"
CALIBRATION = "kvtui_calibration"  # key that marks a calibration file, with its version
SOFTWARE = "engine"  # key of a calibration file: the server whose profile the fit began at
_FILE = Path(__file__).parents[1] / "data" / "steptime.json"


class Forms(NamedTuple):
    """Constants shared by all GPUs; without a unit they multiply an efficiency of the catalogue."""

    overlap: float  # share of the shorter of reading and computing that the longer does not hide
    gemm_memory: float
    gemm_compute: float  # what layers keep of products that were measured alone, experts too
    layer_floor_us: float  # the small kernels of a layer
    prefill_floor: float  # of the fixed part of decode attention
    tile_tokens: float  # further keys each query token pays for, the ragged edge of the causal mask
    prefill_compute: float
    prefill_fp8_kv: float
    decode_floor: float
    decode_memory: float
    decode_fp8_kv: float
    l2_gain: float  # how much faster KV comes that stayed in the cache of the GPU
    allreduce_small: float  # share of the link, below the size at which vLLM leaves it to NCCL
    allreduce_large: float
    allreduce_large_us: float


class EngineProfile(NamedTuple):
    """Host times of an inference engine, and how its kernels do against those that were measured alone."""

    base_us: float  # a step
    layer_us: float  # launches, and kernels so small that their size does not matter
    sequence_us: float  # a running request
    gemm_compute: float
    memory: float  # weights
    attention: float  # KV reads and prompt attention
    touch: float = 1.0  # time of element-wise kernels: less where a compiler fuses them
    way_us: float = 10_000.0  # a request from its client to the queue, and its first token back


def forms() -> Forms:
    """The constants of the kernels."""
    return Forms(**_data()["forms"])


def engines() -> dict[str, EngineProfile]:
    """The engine profiles by name."""
    return {name: EngineProfile(**row) for name, row in _data()["engines"].items()}


def engine(name: str, *, beside: Sequence[str] = ()) -> EngineProfile:
    """A profile by name, or out of a calibration file. Raises ConfigError for what is neither; `beside` are
    further names that would have done."""
    known = engines()
    if name in known:
        return known[name]
    if engine_files(name):
        return _calibration(Path(name))
    raise ConfigError(
        f'unknown engine "{name}"',
        hint=f"{nearest(name, [*known, *beside])}, or a file of steptime --fit",
    )


def engine_files(name: str) -> tuple[Path, ...]:
    """The calibration that `name` means, whether it is there or not; none for a profile of kvtui's own."""
    file = Path(name)
    told = name not in engines() and (file.suffix == ".json" or file.is_file())
    return (file,) if told else ()


def software(name: str) -> str:
    """The inference server that these step times are of: vllm, trtllm or sglang. Of a calibration it is the
    one whose profile the fit began at, vllm where the file does not say."""
    if name in engines():
        return name.partition("-")[0]
    for file in engine_files(name):
        with suppress(OSError, ValueError, AttributeError):
            return str(json.loads(file.read_text("utf-8")).get(SOFTWARE, DEFAULT_ENGINE))
    return DEFAULT_ENGINE


def residuals() -> list[dict[str, Any]]:
    """Errors against measurements: `family`, `n`, `median_error_pct`, `p90_error_pct`, `held_out`, `rows`."""
    rows: list[dict[str, Any]] = _data().get("residuals", [])
    return rows


def calibration_text(profile: EngineProfile, about: dict[str, Any]) -> str:
    """The file that `engine` reads back."""
    return json.dumps({CALIBRATION: 1, "profile": profile._asdict(), **about}, indent=2) + "\n"


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_FILE.read_text("utf-8"))
    return data


def _calibration(path: Path) -> EngineProfile:
    try:
        data = json.loads(path.read_text("utf-8"))
        if data.get(CALIBRATION) != 1:
            raise ConfigError(
                f"{path} is no calibration", hint="kvtui steptime --fit TABLE -o FILE makes one"
            )
        profile = EngineProfile(**{key: float(value) for key, value in data["profile"].items()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read as a calibration: {error}") from None
    for name, value in profile._asdict().items():
        if not 0 < value < 1e9:
            raise ConfigError(
                f"{path}: {name} is {value:g}, and a calibration has numbers above 0 and below 1e9",
                hint="kvtui steptime --fit TABLE -o FILE makes one",
            )
    return profile
