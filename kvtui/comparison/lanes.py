"""Lanes by name: what `--lane NAME[:key=value,...]` can say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from kvtui.errors import ConfigError
from kvtui.groups import PREEMPT
from kvtui.hardware.catalogue import nearest
from kvtui.hardware.kvtypes import KV_TYPES
from kvtui.memory.contiguous import PLACEMENT, RESERVE

LONGEST_NAME = 14  # characters: what a column of the table and a title of the screen hold
BACKENDS = ("simulated", "torch")
ON_OFF = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}
KEYS = {  # of every lane there is, what it can be told
    "contiguous": ("reserve", "placement", "block_size", "kv_dtype", "backend", "name"),
    "paged": ("block_size", "prefix_cache", "kv_dtype", "backend", "name"),
    "vllm-sosp": ("block_size", "preempt", "link", "overlap", "pinned", "kv_dtype", "backend", "name"),
    "orca": ("reserve", "block_size", "kv_dtype", "backend", "name"),
    "static": ("batch", "block_size", "kv_dtype", "backend", "name"),
    "slots": ("slots", "block_size", "kv_dtype", "backend", "name"),
}
MANAGERS = tuple(KEYS)
PAGED = ("paged", "vllm-sosp")  # whose memory is blocks: the others' is regions
NUMBER = {"static": "batch", "slots": "slots"}  # what a bare number means; else the block size
WHOLE = ("block_size", "batch", "slots")
SWITCHES = ("prefix_cache", "overlap", "pinned")
CHOICES = {
    "reserve": RESERVE,
    "placement": PLACEMENT,
    "kv_dtype": tuple(KV_TYPES),
    "preempt": PREEMPT,
    "backend": BACKENDS,
}
WORDS = {word: key for key in ("reserve", "placement", "preempt") for word in CHOICES[key]}


class LaneSpec(NamedTuple):
    """One lane as asked for. `block_size` of a contiguous lane is the unit its regions are cut in."""

    manager: str
    name: str = ""
    block_size: int = 16
    reserve: str = "max"  # contiguous
    placement: str = "first-fit"  # contiguous
    prefix_cache: bool = True  # paged
    kv_dtype: str = "auto"  # auto = the model's 16 bits; see `kvtypes`
    preempt: str = "auto"  # vllm-sosp, see `GroupScheduler`
    link: float = 0.0  # vllm-sosp: GB/s between GPU and host; 0 = what the GPU's bus gives
    overlap: bool = False  # vllm-sosp: whether swapping runs beside a step
    pinned: bool = False  # vllm-sosp: whether common prefixes are kept for good
    batch: int = 0  # static: requests of a batch at most; 0 = as many as fit
    slots: int = 4  # slots: how many
    backend: str = "simulated"  # or torch: steps are carried out and their time is measured

    @classmethod
    def parse(cls, text: str, *, default: LaneSpec | None = None) -> LaneSpec:
        """A lane from `NAME[:key=value,...]`; a bare word is a reserve rule, a placement or a block size.

        What the text does not say is as in `default`.
        """
        manager, _, options = text.replace("oracle", "exact").partition(":")
        if manager not in MANAGERS:
            raise ConfigError(f"there is no lane {manager!r}", hint=nearest(manager, MANAGERS))
        spec = default._replace(manager=manager) if default else cls(manager)
        said: dict[str, str] = {}
        for option in filter(None, options.split(",")):
            key, value = _key_and_value(manager, option.strip(), text)
            if key in said:
                raise ConfigError(
                    f"lane {text}: {key} is said twice, {said[key]} and {value}", hint="say it once"
                )
            said[key] = value
            spec = spec._with(key, value)
        return spec

    def _with(self, key: str, value: str) -> LaneSpec:
        if key == "name" and not (value.isprintable() and 0 < len(value) <= LONGEST_NAME):
            raise ConfigError(f"a lane's name has 1 to {LONGEST_NAME} printable characters, not {value!r}")
        if key in SWITCHES and value not in ON_OFF:
            raise ConfigError(f"{key} is {value!r}", hint="on or off")
        if key in CHOICES and value not in CHOICES[key]:
            raise ConfigError(f"{key} is {value!r}", hint=f"one of {', '.join(CHOICES[key])}")
        changed: dict[str, Any] = {key: value}
        if key in WHOLE:
            changed[key] = _positive(key, value)
        elif key in SWITCHES:
            changed[key] = ON_OFF[value]
        elif key == "link":
            changed[key] = _rate(value)
        return self._replace(**changed)

    @property
    def measured(self) -> bool:
        """Whether its steps are carried out and not computed."""
        return self.backend != "simulated"

    @property
    def memory(self) -> str:
        """What kind of memory it is: "contiguous" or "paged"."""
        return "paged" if self.manager in PAGED else "contiguous"

    @property
    def options(self) -> str:
        """What differs from the default, as `parse` reads it."""
        default = LaneSpec(self.manager, self.name if self.name in ("", self.manager) else "")
        changed = [
            f"{name}={_text(value)}"
            for name, value in self._asdict().items()
            if name != "manager" and value != getattr(default, name)
        ]
        return f"{self.manager}:{','.join(changed)}" if changed else self.manager


def named(specs: tuple[LaneSpec, ...]) -> tuple[LaneSpec, ...]:
    """The same lanes with a name each: lanes of one manager go by what tells them apart, else by number."""
    unnamed = [spec for spec in specs if not spec.name]
    names = [spec.name or _telling(spec, [x for x in unnamed if x.manager == spec.manager]) for spec in specs]
    seen: dict[str, int] = {}
    result = []
    for spec, name in zip(specs, names, strict=True):
        seen[name] = seen.get(name, 0) + 1
        result.append(spec._replace(name=name if seen[name] == 1 else f"{name}-{seen[name]}"))
    return tuple(result)


def _telling(spec: LaneSpec, alike: Sequence[LaneSpec]) -> str:
    """A name that says in what a lane differs from those of the same manager."""
    if len(alike) < 2:
        return spec.manager
    real = "-real" if spec.measured else ""
    if spec.manager in NUMBER:
        number = getattr(spec, NUMBER[spec.manager])
        return f"{spec.manager}-{number}{real}" if number else f"{spec.manager}{real}"
    if spec.memory == "contiguous":
        return f"{'contig' if spec.manager == 'contiguous' else spec.manager}-{spec.reserve}{real}"
    short = spec.manager.removeprefix("vllm-")
    cached = len({other.prefix_cache for other in alike}) > 1
    if cached and len({other._replace(prefix_cache=True) for other in alike}) == 1:
        return f"{short}-cached" if spec.prefix_cache else f"{short}-nocache"
    detail = "" if spec.kv_dtype == "auto" else f"-{spec.kv_dtype}"
    off = "-off" if cached and not spec.prefix_cache else ""
    return f"{short}-{spec.block_size}{detail}{off}{real}"


def _key_and_value(manager: str, option: str, text: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals:
        if option in WORDS:
            key, value = WORDS[option], option
        elif option.isdigit():
            key, value = NUMBER.get(manager, "block_size"), option
    if key not in KEYS[manager]:
        hint = f"a {manager} lane knows {', '.join(KEYS[manager])}"
        raise ConfigError(f"--lane {text}: {key!r} means nothing to a {manager} lane", hint=hint)
    return key, value


def _positive(key: str, value: str) -> int:
    try:
        number = int(value)
    except ValueError:
        number = 0
    if number < 1:
        hint = "16 is usual" if key == "block_size" else "give a whole number from 1 on"
        what = "tokens" if key == "block_size" else "requests"
        raise ConfigError(f"{key} {value} is not a positive number of {what}", hint=hint)
    return number


def _rate(value: str) -> float:
    try:
        rate = float(value)
    except ValueError:
        rate = 0.0
    if not 0 < rate < 1e6:
        raise ConfigError(f"link {value} is not a rate in GB/s", hint="PCIe 4.0 x16 gives about 25")
    return rate


def _text(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
