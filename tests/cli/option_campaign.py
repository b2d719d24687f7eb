"""Random combinations of options through the command line, each in a process and a folder of its own.

    python -m tests.cli.option_campaign [--count 1000] [--seed 0]

What holds for every one of them: exit code 0, or 2 with one sentence; no traceback; JSON where it was asked
for; no file of the user's changed or lost but what `--force` names, none at all after a mistake; an end. What
does not hold is printed with its command line; the exit status tells.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.cli.drawn import command_line
from tests.cli.sandbox import contents, furnish

ENDLESS = {"record": 1.0, "attach": 1.0}  # serve and watch until somebody ends them: seconds they are given
PRELOADED = (
    "cli.build",
    "answers.table",
    "exports.exhibits",
    "recording.filming",
    "tui",
    "tui.view.plainline",
)
LIMIT_S = 120  # of a run: its work is bounded, so it hangs
MEMORY = 8 << 30
INTERRUPTED = 130
RECORDED = {
    "run.kvtui": ["chat", "--limit", "6", "--headless", "--record"],
    "server.kvtui": ["attach", "--demo", "--plain", "--interval", "0.3", "--record"],
}


class Outcome(NamedTuple):
    """What a run said and left."""

    code: int  # negative: the signal that ended it
    out: str
    err: str


def run(words: Sequence[str], folder: Path, *, ended_s: float = 0.0) -> Outcome:
    """kvtui in a fork of this process, in `folder`; Ctrl-C after `ended_s` seconds, if any."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if not child:
            _become(words, folder, out.fileno(), err.fileno(), ended_s)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode("utf-8", "replace"))
    return Outcome(code, *texts)


def _become(words: Sequence[str], folder: Path, out: int, err: int, ended_s: float) -> None:
    """This process is kvtui from here on; never returns."""
    code = 1
    try:
        for number, stream in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(number, stream)
        sys.stdin, sys.stdout, sys.stderr = (
            open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            for number, mode in ((0, "r"), (1, "w"), (2, "w"))
        )
        os.chdir(folder)
        os.environ |= {"HOME": str(folder / "home"), "TERM": "dumb"}
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        _end_by_itself(ended_s)
        sys.argv = ["kvtui", *words]
        from kvtui.__main__ import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                try:
                    stream.flush()
                except OSError:
                    code = code or 1
        os._exit(code)


def _end_by_itself(ended_s: float) -> None:
    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LIMIT_S)
        os.kill(os.getpid(), signal.SIGINT)

    if ended_s:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what it runs beside
        signal.signal(signal.SIGALRM, interrupt)
        signal.setitimer(signal.ITIMER_REAL, ended_s)
    else:
        time.sleep = lambda _: None  # --plain waits as long as it is told
        signal.alarm(LIMIT_S)


def faults(
    words: Sequence[str], done: Outcome, before: dict[str, bytes], after: dict[str, bytes]
) -> Iterator[str]:
    """What does not hold."""
    stopped = done.code == INTERRUPTED and words[:1] and words[0] in ENDLESS
    if done.code not in (0, 2) and not stopped:
        yield f"ended with {done.code}"
    if "Traceback" in done.err or "Warning:" in done.err:
        yield "a traceback or a warning"
    if done.code == 2 and "kvtui: " not in done.err:
        yield "no sentence"
    if done.code == 2 and any(len(line) > 1100 for line in done.err.splitlines()):
        yield "a sentence without end"
    if done.code == 0 and "--json" in words and not _is_json(words, done.out):
        yield "no JSON"
    yield from _lost(words, done.code, before, after)


def _is_json(words: Sequence[str], text: str) -> bool:
    if {"-h", "--help"} & set(words):
        return True
    texts = text.splitlines() if words[0] == "attach" and "--once" not in words else [text]
    try:
        for one in texts:
            json.loads(one, parse_constant=lambda word: int(word))  # NaN is none
    except ValueError:
        return False
    return True


def _lost(
    words: Sequence[str], code: int, before: dict[str, bytes], after: dict[str, bytes]
) -> Iterator[str]:
    for name, was in before.items():
        changed = after.get(name) != was
        if changed and (code == 2 or not _may_change(words, name)):
            yield f"{name} {'was changed' if name in after else 'is gone'}"
    new = [name for name in after if name not in before and not name.startswith("home/")]
    for name in new:
        if code == 2 or not any(Path(word) == Path(name) for word in words):
            yield f"{name} was left there"


def _may_change(words: Sequence[str], name: str) -> bool:
    """Whether it was named to be replaced, or to be gone on with."""
    named = [at for at, word in enumerate(words) if at and Path(word) == Path(name)]
    return any("--force" in words or words[at - 1] == "--ledger" for at in named)


def campaign(count: int, seed: int) -> int:
    """Try that many; gives how many are wrong."""
    for name in PRELOADED:
        import_module(f"kvtui.{name}")  # once, not in every fork
    wrong, codes = 0, Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        model = Path(place, "model")
        model.mkdir()
        furnish(model)
        _record(model)
        (model / "half.kvtui").write_bytes((model / "run.kvtui").read_bytes()[:-200])
        for number in range(seed, seed + count):
            words, found, code = one(number, model, Path(place, "deep", "case"))
            codes[f"{words[0] if words and words[0].isalpha() else 'run'} {code}"] += 1
            if found:
                wrong += 1
                print(f"\n{number}: kvtui {shlex.join(words)[:600]}", *found, sep="\n    ", flush=True)
    print(f"{wrong} of {count} wrong;", ", ".join(f"{name}: {n}" for name, n in sorted(codes.items())))
    return wrong


def _record(folder: Path) -> None:
    for name, words in RECORDED.items():
        for patience_s in (2.0, 10.0):  # the longer one where the machine is busy
            if not (folder / name).exists():
                made = run([*words, name], folder, ended_s=patience_s if words[0] in ENDLESS else 0.0)
        assert (folder / name).exists(), made


def one(seed: int, model: Path, folder: Path) -> tuple[list[str], list[str], int]:
    """Its words, what is wrong, its exit code."""
    words = command_line(random.Random(seed))
    shutil.copytree(model, folder)
    try:
        before = contents(folder)
        done = run(words, folder, ended_s=ENDLESS.get(words[0] if words else "", 0.0))
        found = list(faults(words, done, before, contents(folder)))
    finally:
        shutil.rmtree(folder)
    if found:
        found.append("stderr: " + done.err[-700:].strip().replace("\n", "\n    "))
    return words, found, done.code


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    sys.exit(bool(campaign(asked.count, asked.seed)))


if __name__ == "__main__":
    main()
