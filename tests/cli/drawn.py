"""Random command lines, read from the commands themselves: a new option is drawn as soon as it is there.

What an option takes is known from its type; what a text means, from the words of its help. Where those do not
say what works, `WORKS` does.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import click

from kvtui.cli.app import app
from kvtui.cli.run import run
from kvtui.hardware.catalogue import gpus, models
from tests.cli.sandbox import FILES, OUTPUTS

BUNDLED = ("chat", "article", "agent", "burst", "documents")
NUMBERS = (
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "64",
    "256",
    "4096",
    "-1",
    "65536",
    "1000000000",
    str(10**30),
    "1.5",
)
SHARES = ("0", "0.05", "0.5", "0.9", "1", "1.5", "4", "30", "-1", "nan", "inf", "-inf", "1e-300", "1e300")
JUNK = (
    "",
    " ",
    "x",
    "ünï",
    "日本",
    "a:b=c",
    "--",
    "-",
    "\x1b[31m",
    "../..",
    "n" * 2000,
    "1,2,x",
    ",",
    "0x10",
)
SERVERS = (
    "http://127.0.0.1:9",
    "127.0.0.1:9",
    "ftp://x",
    "http://",
    "http://[",
    "nohost.invalid",
    "localhost:x",
)
NUMBERED = ("--limit", "--requests", "--jobs")  # how much there is to do: kept small
LARGEST = 9
STEPS = (0, 0, 1, 2, 6, 15, 63, 255, 4095)  # above the least that is allowed
WAYS = ("--headless", "--plain", "--once", "--json", "--markdown", "--screen", "--show")
SELDOM = (
    "--force",
    "--device",
    "--kv-layers",
    "--device-share",
    "--verify",
    "--gemm",
    "--steptimes",
    "--backend",
    "--replay",
    "--acceptance",
    "--seed",
    "--tokenizer",
    "--start",
    "--skip",
    "--from-log",
    "--fit",
    "-o",
    "--scheduler",
)
WORKS: dict[str, tuple[str, ...]] = {
    "--lane": (
        "contiguous",
        "contiguous:pow2",
        "contiguous:exact,buddy",
        "paged",
        "paged:block_size=32",
        "paged:prefix_cache=off",
        "paged:kv_dtype=fp8",
        "vllm-sosp:swap",
        "orca:oracle",
        "static:4",
        "slots:8",
    ),
    "--manager": ("paged;contiguous:pow2", "paged", "contiguous", "slots:4"),
    "--model": (*(model.id for model in models()), "./config.json"),
    "--gpu": tuple(gpu.id for gpu in gpus()),
    "--engine": ("vllm", "vllm-2023", "trtllm", "sglang"),
    "--kv-dtype": ("auto", "fp8", "int4_per_token_head", "bf16"),
    "--acceptance": ("0.7", "0.8,0.6,0.4"),
    "--spec-method": ("ngram", "draft_model", "eagle", "mtp"),
    "--output": ("p50=100,p99=300", "50", "new.jsonl"),
    "--tokenizer": ("config.json", "good.csv"),
    "--ledger": ("new.jsonl", "new", "old.jsonl", "good.csv", "bare"),
    "--check": ("steps.csv", "good.csv"),
    "--fit": ("steps.csv", "good.csv"),
    "--vllm": ("0.12", "0.16", "0.20", "0.24", "0.28", "0.32", "0.33", "0.1"),
    "--prompt": ("p50=800,p90=3000,p99=8000", "400"),
    "--like": ("good.csv",),
    "--from-log": ("server.log",),
    "--grid": ("grid.toml", "cut.csv"),
    "--measured": ("server.kvtui", "run.kvtui"),
    "--events": ("tcp://127.0.0.1:9",),
    "--replay": ("tcp://127.0.0.1:9",),
    "--upstream": SERVERS,
    "--listen": ("127.0.0.1:0", "127.0.0.1:99999", "127.0.0.1"),
    "--scheduler": ("tcp://127.0.0.1:9",),
}
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "urls": SERVERS,
    "name": ("table1", "fp8", "mla", "fig18a", "vattention", "fig99"),  # the others take seconds
    "topic": ("block", "waste", "preemption", "prefix cache", "?"),
    "words": (".", "folder", "--gpu", "l4", "--lane", "nope"),
    "trace": (*BUNDLED, *FILES),
}
MEANT: dict[str, tuple[str, ...]] = {
    "trace": (*BUNDLED, "good.csv", "good.jsonl", "ünï 日本 \N{ROCKET}.csv", "folder"),
    "source": (*BUNDLED, "good.csv", "good.jsonl", "folder"),
    "target": tuple(name for name in OUTPUTS if name.startswith(("new", "ünï"))),
    "file": ("run.kvtui", "server.kvtui", "good.csv"),
    "config": ("case.json",),
    "trace_file": ("case.jsonl",),
    "urls": ("127.0.0.1:9",),
}


def command_line(draw: random.Random) -> list[str]:
    """One of them: a command, its arguments and up to eight options, most of them as they are meant."""
    path, command = draw.choice(list(_leaves(app, [])))
    if draw.random() < 0.4:
        path, command = ["run"], run
    sane = draw.random() < 0.8  # else anything goes
    options = [param for param in command.params if isinstance(param, click.Option)]
    words = [word for param in command.params for word in _argument(draw, param, sane=sane)]
    words += _way(draw, options) if sane else []
    likely = [param for param in options if not sane or _goes_alone(draw, param)]
    for param in draw.sample(likely, min(len(likely), draw.randint(0, 8))):
        words += _option(draw, param, sane=sane)
    words += [word for param in options for word in _needed(draw, param, words)]
    return ([] if path == ["run"] and draw.random() < 0.3 else path) + words


def _leaves(command: click.Command, path: list[str]) -> Iterator[tuple[list[str], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        assert child is not None
        yield from _leaves(child, [*path, name])


def _argument(draw: random.Random, param: click.Parameter, *, sane: bool) -> list[str]:
    if not isinstance(param, click.Argument):
        return []
    if not param.required and param.name != "name" and draw.random() < 0.3:
        return []
    many = draw.randint(0, 3) if param.nargs < 0 else 1
    known = ARGUMENTS.get(str(param.name), (*FILES, *OUTPUTS))
    if sane and draw.random() < 0.92:
        known = MEANT.get(str(param.name), known)
    return [draw.choice(known if draw.random() < 0.9 else JUNK) for _ in range(many)]


def _way(draw: random.Random, options: list[click.Option]) -> list[str]:
    """How the answer is given, of the ways that the command has."""
    there = {flag for param in options for flag in param.opts}
    ways: list[list[str]] = [
        ["--headless"],
        ["--headless", "--json"],
        ["--plain"],
        ["--once", "--json"],
        ["--json"],
    ]
    return draw.choice([*(way for way in ways if there.issuperset(way)), []])


def _goes_alone(draw: random.Random, param: click.Option) -> bool:
    """Whether it is drawn where most is as it is meant: some options need others, or exclude each other."""
    return not {*WAYS, *SELDOM} & set(param.opts) or draw.random() < 0.1


def _option(draw: random.Random, param: click.Option, *, sane: bool) -> list[str]:
    flag = draw.choice(param.opts)
    if param.is_flag:
        return [flag]
    many = draw.randint(1, 3) if param.multiple else 1
    return [word for _ in range(many) for word in (flag, _value(draw, param, sane=sane))]


def _value(draw: random.Random, param: click.Option, *, sane: bool) -> str:
    flag, kind = param.opts[0], param.type
    if not sane and draw.random() < 0.3:
        return draw.choice(JUNK)
    if flag in NUMBERED:
        return str(draw.randint(1 if sane else -1, LARGEST))
    if isinstance(kind, click.Choice):
        return str(draw.choice(list(kind.choices)))
    if isinstance(kind, click.IntRange) and sane:
        return str((kind.min or 0) + draw.choice(STEPS))
    if kind.name.startswith("integer"):
        return draw.choice(NUMBERS[1:9] if sane else NUMBERS)
    if kind.name in ("float", "float range", "number"):
        return draw.choice(SHARES[1:8] if sane else SHARES)
    if isinstance(kind, click.Path):
        return draw.choice(WORKS.get(flag, (*OUTPUTS, *OUTPUTS, *FILES)))
    if known := WORKS.get(flag):
        return draw.choice(known)
    if "FILE" in str(param.metavar) or "TABLE" in str(param.metavar):
        return draw.choice((*OUTPUTS, *FILES))
    return draw.choice([*re.findall(r"[\w.:-]+", param.help or "x"), *NUMBERS[1:7], "16,32", "0.5,0.9"])


def _needed(draw: random.Random, param: click.Option, words: list[str]) -> list[str]:
    """What has to be there: required options (mostly), and a bound on the work."""
    if any(opt in words for opt in param.opts):
        return []
    if param.opts[0] in NUMBERED or (param.required and draw.random() < 0.9):
        return _option(draw, param, sane=True)
    return []
