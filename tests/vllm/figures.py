"""What a campaign went through, counted from the recordings, so that a clean result means something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.serving.worlds import World

QUIET = {"num_gpu_blocks", "block_size", "max_steps", "max_model_len", "max_num_batched_tokens"}


class Figures:
    """Counts of options used, and of events, each with the number of worlds it happened in."""

    def __init__(self) -> None:
        self.worlds = 0
        self.options: Counter[str] = Counter()
        self.events: Counter[str] = Counter()
        self.in_worlds: Counter[str] = Counter()

    def add(self, world: World, decisions: list[dict[str, Any]]) -> None:
        """Count one world and its recording."""
        self.worlds += 1
        self.options.update(set(_options(world)))
        here: Counter[str] = Counter()
        known: dict[str, int] = {}
        for line in decisions:
            here.update(_events(line, known))
            known |= (
                {id: line["computed"][id] + n for id, n in line["scheduled"].items()} if "end" in line else {}
            )
        if len(decisions) and decisions[-1]["step"] >= world[0]["max_steps"] - 1:
            here["ended by max_steps"] = 1
        self.events += here
        self.in_worlds.update(here.keys())

    def table(self) -> str:
        """Everything, most frequent first."""
        rows = [f"{self.worlds} worlds", "", f"{'option':44}{'worlds':>8}"]
        rows += [f"{name:44}{n:8}" for name, n in self.options.most_common()]
        rows += ["", f"{'event':44}{'worlds':>8}{'times':>10}"]
        rows += [f"{name:44}{self.in_worlds[name]:8}{n:10}" for name, n in self.events.most_common()]
        return "\n".join(rows)


def _options(world: World) -> Iterable[str]:
    config, lines = world
    for name, value in config.items():
        if name not in QUIET and value is not None:
            yield f"{name} = {value}" if isinstance(value, bool | str) else name
    for row in lines:
        yield from (f"request: {name}" for name in row if name not in ("id", "arrival_step", "output_tokens"))
        if isinstance(row.get("prompt_tokens"), list):
            yield "request: explicit token ids"
        if row.get("max_tokens", 0) > row["output_tokens"]:
            yield "request: stops early"


def _events(line: dict[str, Any], known: dict[str, int]) -> Iterable[str]:
    """Names of what happened in one step, once for each time."""
    for name in ("added", "rejected", "aborted", "stalled"):
        yield from [name] * len(line.get(name, ()))
    if "end" not in line:
        return
    yield "steps"
    yield from ["tokens scheduled"] * sum(line["scheduled"].values())
    for name in ("new", "resumed", "preempted", "evicted"):
        yield from [name] * len(line[name])
    yield from (f"finished: {reason}" for reason in line["finished"].values())
    yield from ["running, but got nothing"] * len(set(line["running"]) - set(line["scheduled"]))
    if line["waiting"]:
        yield "steps with a queue"
        if not line["preempted"] and not line["new"] + line["resumed"]:
            yield "steps in which the head was refused"
    if line["preempted"] and not line["scheduled"]:
        yield "steps that only preempted"
    if line["free"] == 0:
        yield "steps with a full pool"
    yield from _hits(line)
    yield from _more(line)
    for id, n in line["scheduled"].items():
        if n > 1 and id not in line["hit"]:
            yield "later chunks of a prompt"
        elif n > 1 or id in line["hit"]:
            yield "first chunks or whole prompts"
    for id in line.get("aborted", ()):
        if id in known:
            yield "aborted after it had run"


def _hits(line: dict[str, Any]) -> Iterable[str]:
    fresh: set[int] = set()
    for id, tables in line["new_blocks"].items():
        blocks = [b for table in tables for b in table] if isinstance(tables[0], list) else tables
        hit = line["hit"].get(id, 0)
        if hit:
            yield "prefix hits after a preemption" if id in line["resumed"] else "prefix hits"
            if fresh & set(blocks):
                yield "prefix hits on blocks of the same step"
        fresh |= set(blocks)


def _more(line: dict[str, Any]) -> Iterable[str]:
    """Drafts and windows."""
    padded = line.get("padded", ())
    yield from ["decodes admitted with placeholders"] * len(padded)
    yield from ["verifying requests"] * (len(line.get("spec", ())) - len(padded))
    yield from ["rejected drafts"] * sum(line.get("rejected_drafts", {}).values())
    yield from ["accepted drafts"] * line.get("spec_stats", {}).get("num_accepted_tokens", 0)
    gone = [at for tables in line.get("nulled", {}).values() for table in tables for at in table]
    yield from ["blocks that fell out of a window"] * len(gone)
    tables = line.get("tables", {})
    for id in line["new"] + line["resumed"]:
        if any(0 in table for table in tables.get(id, ())):
            yield "hits that begin with null blocks"
