"""The settings: what each does, which values it takes, and whether a change of it starts the run again."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final

from kvtui.comparison.experiment import Experiment
from kvtui.comparison.lanes import MANAGERS, PAGED
from kvtui.memory.contiguous import PLACEMENT, RESERVE
from kvtui.tui.view.canvas import Canvas, Line, cut, wrap
from kvtui.tui.view.ink import BOLD, HOT, T1, T2, T3, WARN, lane_ink

_LABEL, _VALUE = 20, 13
_TURNED: Final = ("contiguous", "paged")


@dataclass(frozen=True)
class Setting:
    """`words` say what it does, `short` where they have no room. `lane`: of the chosen lane only. `managers`:
    which lanes it means something to."""

    name: str
    label: str
    words: str
    short: str
    values: tuple[Any, ...]
    lane: bool = False
    managers: tuple[str, ...] = MANAGERS

    def value(self, experiment: Experiment, lane: int) -> Any:
        return getattr(experiment.lanes[lane] if self.lane else experiment, self.name)

    def means(self, experiment: Experiment, lane: int) -> bool:
        return not self.lane or experiment.lanes[lane].manager in self.managers

    def turned(self, experiment: Experiment, lane: int, by: int) -> Experiment:
        """The experiment with the value `by` places further."""
        now = self.value(experiment, lane)
        at = self.values.index(now) if now in self.values else 0
        value = self.values[(at + by) % len(self.values)]
        if not self.lane:
            return replace(experiment, **{self.name: value})
        lanes = [*experiment.lanes]
        lanes[lane] = lanes[lane]._replace(**{self.name: value})
        return replace(experiment, lanes=tuple(lanes))


SETTINGS: Final = (
    Setting(
        "manager",
        "manager",
        "Reserve a region a request, or hand out blocks one by one.",
        "A region a request, or blocks.",
        _TURNED,
        lane=True,
    ),
    Setting(
        "reserve",
        "reserve",
        "How much a region holds: the maximum length, the next power of two, or exactly what is needed.",
        "How much a region holds.",
        RESERVE,
        lane=True,
        managers=("contiguous",),
    ),
    Setting(
        "placement",
        "placement",
        "Where a region goes: the first stretch it fits in, or by halving.",
        "Where a region goes.",
        PLACEMENT,
        lane=True,
        managers=("contiguous",),
    ),
    Setting(
        "block_size",
        "block size",
        "Tokens a block. Small ones waste less at the end of a request, large ones need fewer look-ups.",
        "Tokens a block; small ones waste less.",
        (8, 16, 32, 64, 128),
        lane=True,
        managers=PAGED,
    ),
    Setting(
        "prefix_cache",
        "prefix cache",
        "Keep the blocks of requests that ended, so that a later one with the same beginning finds them.",
        "Keep blocks for the same beginning.",
        (True, False),
        lane=True,
        managers=("paged",),
    ),
    Setting(
        "kv_dtype",
        "KV type",
        "Elements of K and V: at 8 bits the same memory holds twice the tokens.",
        "At 8 bits twice the tokens fit.",
        ("auto", "fp8"),
        lane=True,
    ),
    Setting(
        "max_num_seqs",
        "requests at once",
        "At most so many run together, whatever the memory (usual: vLLM's server on this GPU).",
        "At most so many run together.",
        (None, 8, 16, 32, 64, 128, 256, 512, 1024),
    ),
    Setting(
        "max_num_batched_tokens",
        "tokens a step",
        "The budget of one step: long prompts are cut into chunks of it.",
        "The budget of one step.",
        (None, 512, 1024, 2048, 4096, 8192, 16384),
    ),
    Setting(
        "chunked_prefill",
        "chunked prefill",
        "Compute a long prompt over several steps, so that others go on meanwhile.",
        "A long prompt over several steps.",
        (True, False),
    ),
    Setting(
        "policy",
        "policy",
        "Who comes next: the first that came, or the most urgent.",
        "Who comes next.",
        ("fcfs", "priority"),
    ),
    Setting(
        "long_prefill_token_threshold",
        "longest chunk",
        "No prompt gets more tokens of a step than this (0: no limit).",
        "Of one prompt in a step; 0: no limit.",
        (0, 256, 1024, 4096),
    ),
    Setting(
        "watermark",
        "watermark",
        "The share of blocks that is kept free when a request is let in, against preemptions.",
        "Blocks kept free when one is let in.",
        (0.0, 0.01, 0.02, 0.05),
    ),
    Setting(
        "async_scheduling",
        "asynchronous",
        "Decide on a step before the results of the last one are seen.",
        "Decide before results are seen.",
        (False, True),
    ),
)


def settings_of(experiment: Experiment, lane: int) -> list[Setting]:
    """Those that mean something to this lane."""
    return [setting for setting in SETTINGS if setting.means(experiment, lane)]


def settings_lines(
    before: Experiment,
    after: Experiment,
    lane: int,
    chosen: int,
    *,
    width: int,
    margin: int = 2,
    error: str = "",
) -> tuple[Line, ...]:
    """The whole page: what is set, what is about to change, what the chosen setting does, and how far off
    the times are that come of it (`error`)."""
    shown = settings_of(after, lane)
    told = wrap(shown[chosen].words, width - 2 * margin)[:2] + wrap(error, width - 2 * margin)
    canvas = Canvas(width, len(shown) + 6 + len(told))
    end = canvas.put(margin, 0, "Settings", BOLD)
    canvas.put(end + 2, 0, "↻ = a change starts the run again from the same requests", T3)
    y = 2
    for at, setting in enumerate(shown):
        if at == 0 or setting.lane != shown[at - 1].lane:
            y += at > 0
            title = after.lanes[lane].name.capitalize() if setting.lane else "All lanes"
            canvas.put(margin, y, title, lane_ink(lane, bold=True) if setting.lane else BOLD)
            y += 1
        value = text_of(setting, after, lane)
        changed = setting.value(after, lane) != setting.value(before, lane)
        canvas.put(margin, y, "▸" if at == chosen else " ", HOT)
        canvas.put(margin + 2, y, setting.label, T1 if at == chosen else T2)
        canvas.put(margin + 2 + _LABEL, y, value, HOT if changed else T1)
        canvas.put(margin + 2 + _LABEL + _VALUE, y, "↻", WARN if changed else T3)
        x = margin + 2 + _LABEL + _VALUE + 3
        words = setting.words if len(setting.words) <= width - margin - x else setting.short
        canvas.put(x, y, cut(words, width - margin - x), T2 if at == chosen else T3)
        y += 1
    for row, line in enumerate(told):
        canvas.put(margin, y + 1 + row, line, T2)
    return canvas.lines()


def text_of(setting: Setting, experiment: Experiment, lane: int) -> str:
    """How a value is written; where none is given, the one that is used."""
    value = setting.value(experiment, lane)
    if value is None:
        usual = {"max_num_seqs": experiment.limits.seqs, "max_num_batched_tokens": experiment.limits.tokens}
        return f"{usual[setting.name]:,} usual"
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)
