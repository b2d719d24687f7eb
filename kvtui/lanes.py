"""Lanes by name: what `--lane NAME[:key=value,...]` can say."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from kvtui.catalogue import nearest
from kvtui.errors import ConfigError
from kvtui.memory.contiguous import PLACEMENT, RESERVE

MANAGERS = ("contiguous", "paged")
KV_DTYPES = {"auto": 2, "bf16": 2, "fp16": 2, "fp8": 1}
LONGEST_NAME = 14  # characters: what a column of the table and a title of the screen hold
ON_OFF = {"on": True, "off": False, "true": True, "false": False, "yes": True, "no": False}
KEYS = {
    "contiguous": ("reserve", "placement", "block_size", "kv_dtype", "name"),
    "paged": ("block_size", "prefix_cache", "kv_dtype", "name"),
}


@dataclass(frozen=True, slots=True)
class LaneSpec:
    """One lane as asked for. `block_size` of a contiguous lane is the unit its regions are cut in."""

    manager: str
    name: str = ""
    block_size: int = 16
    reserve: str = "max"  # contiguous
    placement: str = "first-fit"  # contiguous
    prefix_cache: bool = True  # paged
    kv_dtype: str = "auto"  # auto = the model's 16 bits

    @classmethod
    def parse(cls, text: str, *, default: LaneSpec | None = None) -> LaneSpec:
        """A lane from `NAME[:key=value,...]`; a bare word is a reserve rule, a placement or a block size.

        What the text does not say is as in `default`.
        """
        manager, _, options = text.partition(":")
        if manager not in MANAGERS:
            raise ConfigError(f"there is no lane {manager!r}", hint=nearest(manager, MANAGERS))
        spec = replace(default, manager=manager) if default else cls(manager)
        for option in filter(None, options.split(",")):
            spec = spec._with(*_key_and_value(manager, option.strip(), text))
        return spec

    def _with(self, key: str, value: str) -> LaneSpec:
        if key == "block_size":
            return replace(self, block_size=_positive(key, value))
        if key == "prefix_cache":
            if value not in ON_OFF:
                raise ConfigError(f"prefix_cache is {value!r}", hint="on or off")
            return replace(self, prefix_cache=ON_OFF[value])
        if key == "name" and not (value.isprintable() and 0 < len(value) <= LONGEST_NAME):
            raise ConfigError(f"a lane's name has 1 to {LONGEST_NAME} printable characters, not {value!r}")
        allowed = {"reserve": RESERVE, "placement": PLACEMENT, "kv_dtype": tuple(KV_DTYPES)}.get(key)
        if allowed is not None and value not in allowed:
            raise ConfigError(f"{key} is {value!r}", hint=f"one of {', '.join(allowed)}")
        if key == "reserve":
            return replace(self, reserve=value)
        if key == "placement":
            return replace(self, placement=value)
        return replace(self, kv_dtype=value) if key == "kv_dtype" else replace(self, name=value)

    @property
    def kv_dtype_bytes(self) -> int:
        return KV_DTYPES[self.kv_dtype]

    @property
    def options(self) -> str:
        """What differs from the default, as `parse` reads it."""
        default = LaneSpec(self.manager, self.name if self.name in ("", self.manager) else "")
        changed = [
            f"{f.name}={_text(getattr(self, f.name))}"
            for f in fields(self)
            if f.name != "manager" and getattr(self, f.name) != getattr(default, f.name)
        ]
        return f"{self.manager}:{','.join(changed)}" if changed else self.manager


def named(specs: tuple[LaneSpec, ...]) -> tuple[LaneSpec, ...]:
    """The same lanes with a name each: lanes of one manager go by what tells them apart, else by number."""
    managers = [spec.manager for spec in specs if not spec.name]
    names = [spec.name or _telling(spec, managers.count(spec.manager) > 1) for spec in specs]
    seen: dict[str, int] = {}
    result = []
    for spec, name in zip(specs, names, strict=True):
        seen[name] = seen.get(name, 0) + 1
        result.append(replace(spec, name=name if seen[name] == 1 else f"{name}-{seen[name]}"))
    return tuple(result)


def _telling(spec: LaneSpec, several: bool) -> str:
    if not several:
        return spec.manager
    if spec.manager == "contiguous":
        return f"contig-{spec.reserve}"
    detail = "" if spec.kv_dtype == "auto" else f"-{spec.kv_dtype}"
    return f"paged-{spec.block_size}{detail}"


def _key_and_value(manager: str, option: str, text: str) -> tuple[str, str]:
    key, equals, value = option.partition("=")
    if not equals:
        if option in RESERVE:
            key, value = "reserve", option
        elif option in PLACEMENT:
            key, value = "placement", option
        elif option.isdigit():
            key, value = "block_size", option
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
        raise ConfigError(f"{key} {value} is not a positive number of tokens", hint="16 is usual")
    return number


def _text(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
