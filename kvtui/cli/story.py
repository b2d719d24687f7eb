"""The commands as a newcomer meets them. What is wanted often has a row of its own, what is wanted rarely
shares one, so that `kvtui --help` is one screen."""

from __future__ import annotations

from typing import Final, NamedTuple


class Row(NamedTuple):
    """A line of the help: for what it is, commands by name, each with its place below `kvtui.cli`, and what
    they do; a command alone says that itself."""

    part: str
    commands: dict[str, str]
    do: str = ""


STORY: Final = (
    Row("Watch", {"run": "run.run"}),
    Row("", {"tour": "tour.tour", "demo": "demo.demo"}, "What paged memory does; what this machine can."),
    Row("", {"browse": "browse.browse", "replay": "replay.replay"}, "Look through traces; show a recording."),
    Row("Size", {"capacity": "capacity.capacity"}),
    Row("", {"sweep": "sweep.sweep"}),
    Row("", {"advise": "questions.advise"}),
    Row(
        "",
        {"block-sizes": "questions.block_sizes", "hits": "questions.hits"},
        "Blocks of 1 to 256 tokens; hits by cache size.",
    ),
    Row("Go live", {"attach": "attach.attach"}),
    Row(
        "",
        {"record": "record.record", "check": "check.check"},
        "Traffic as a trace; how far off kvtui is on it.",
    ),
    Row(
        "Traces",
        {"trace": "traces.trace", "workloads": "workloads.workloads"},
        "Look into, convert, make; the bundled ones.",
    ),
    Row(
        "Doubt",
        {"reproduce": "reproduce.reproduce", "steptime": "steptime.steptime"},
        "Published figures and step times beside ours.",
    ),
    Row("", {"decisions": "decisions.decisions"}),
    Row("Look up", {"help": "topics.explain"}),
    Row(
        "",
        {"models": "catalogue.models", "gpus": "catalogue.gpus", "doctor": "doctor.doctor"},
        "The catalogue; what your terminal can do.",
    ),
)
COMMANDS: Final = {name: place for row in STORY for name, place in row.commands.items()}
