"""`kvtui run`: replay a trace side by side, on the screen or headless."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kvtui.cli import completion
from kvtui.cli.device import device_options
from kvtui.cli.exportoptions import distinct, export_options
from kvtui.cli.hardware import GPU, MODEL
from kvtui.cli.late import load_late
from kvtui.cli.lookoptions import look_options, looking
from kvtui.cli.sections import Sectioned
from kvtui.cli.slooptions import slo_options
from kvtui.cli.traceoptions import trace_options
from kvtui.cli.types import Positive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtui.comparison.experiment import Experiment
    from kvtui.comparison.lane import Lane
    from kvtui.recording.filming import Filming

DEFAULT_SPEED = 4.0  # virtual seconds a second on screen
ARTICLE = "article"  # the bundled workload of an experiment that is told with it
NO_TERMINAL = "no full screen here ({}): the summary instead"


@click.command(cls=Sectioned, short_help="A trace on lanes side by side (the default).")
@click.argument("trace", default="chat", metavar="[TRACE]", shell_complete=completion.traces)
@click.option("--headless", is_flag=True, help="No screen: print the comparison as a table.")
@click.option("--plain", is_flag=True, help="No screen: a line of text every few seconds of the run.")
@click.option(
    "--every",
    default=5.0,
    show_default=True,
    type=Positive(),
    metavar="SECONDS",
    help="Of --plain, virtual time.",
)
@click.option("--once", is_flag=True, help="No screen: one moment, that of --until or the end.")
@click.option("--json", "as_json", is_flag=True, help="With --headless or --once: print it as JSON.")
@click.option(
    "--lane",
    "lanes",
    multiple=True,
    shell_complete=completion.lanes,
    metavar="NAME[:key=value,...]",
    help="A lane, up to four: contiguous[:max|pow2|exact,first-fit|buddy], "
    "paged[:block_size=N,prefix_cache=off,kv_dtype=fp8], vllm-sosp[:auto|swap|recompute], "
    "orca[:max|pow2|oracle], static[:N], slots[:N]. Default: contiguous and paged.",
)
@MODEL
@GPU
@click.option(
    "--tp", default=1, show_default=True, type=click.IntRange(1), help="GPUs the model is split over."
)
@click.option(
    "--engine",
    default="vllm",
    show_default=True,
    metavar="NAME",
    help="Whose step times: vllm, vllm-2023, trtllm, sglang, aiconfigurator (needs the extra of that name), "
    "or a file of kvtui steptime --fit.",
)
@click.option("--blocks", type=int, metavar="N", help="Pool of N blocks, whatever the GPU.")
@click.option(
    "--kv-dtype",
    "--kv-cache-dtype",
    "kv_dtype",
    default="auto",
    metavar="TYPE",
    help="How all lanes store KV that do not say so: auto (16 bits), fp8, ...",
)
@click.option("--price", type=Positive(most=1e6, zero=True), metavar="USD", help="Of one GPU for an hour.")
@click.option("--from-log", metavar="FILE", help="Pool of the size that this server's log says it has.")
@click.option(
    "--block-size", default=16, show_default=True, type=int, metavar="N", help="Tokens a block, all lanes."
)
@click.option(
    "--samples", type=click.IntRange(1, 1024), metavar="N", help="Sequences sampled from each prompt."
)
@click.option("--beams", type=click.IntRange(2, 1024), metavar="K", help="Beam width of each request.")
@click.option("--max-len", type=int, metavar="N", help="Maximum length of a request, prompt and answer.")
@click.option(
    "--gpu-memory-utilization", "utilization", type=float, metavar="X", help="Share of the GPU (vLLM's own)."
)
@click.option("--max-num-seqs", type=click.IntRange(1), metavar="N", help="Requests at once at most.")
@click.option("--max-num-batched-tokens", type=click.IntRange(1), metavar="N", help="Token budget of a step.")
@click.option("--no-chunked-prefill", is_flag=True, help="A prompt is computed in one step or not at all.")
@click.option(
    "--policy",
    default="fcfs",
    show_default=True,
    type=click.Choice(["fcfs", "priority"]),
    help="Who comes next.",
)
@click.option(
    "--long-prefill-token-threshold",
    default=0,
    type=click.IntRange(0),
    metavar="N",
    help="Cap of a prompt's chunk.",
)
@click.option(
    "--watermark", default=0.0, type=float, metavar="X", help="Share of blocks kept free at admission."
)
@click.option(
    "--async-scheduling",
    is_flag=True,
    help="Schedule a step before the last one's result is seen, as vLLM does on GPUs since 0.14.",
)
@click.option(
    "--spec-method", metavar="NAME", help="Speculative decoding: ngram, draft_model, eagle, mtp, ..."
)
@click.option(
    "--spec-tokens",
    "--num-speculative-tokens",
    "spec_tokens",
    type=click.IntRange(1),
    metavar="K",
    help="Drafts a step (3); by a draft model where no method is named.",
)
@click.option("--spec-model", metavar="ID", help="Who drafts: its memory is taken off the pool.")
@click.option("--acceptance", metavar="X[,X...]", help="Drafts that are right, by position (0.7).")
@click.option(
    "--vllm", metavar="RELEASE", help="Rules of this vLLM release: 0.12, 0.16, 0.20, 0.24, 0.28, 0.32, 0.33."
)
@slo_options
@device_options
@trace_options
@click.option(
    "--until",
    type=Positive(most=1e12, zero=True),
    metavar="SECONDS",
    help="Cut the run at this virtual time.",
)
@click.option(
    "--speed",
    type=Positive(most=1e6),
    help="Virtual seconds a second (4 on screen; --plain without it goes as fast as it can).",
)
@look_options
@click.option(
    "--record", type=click.Path(path_type=Path), metavar="FILE", help="Record it, for kvtui replay."
)
@export_options
def run(**options: Any) -> int:
    """Replay TRACE (a file, - for standard input, or a bundled workload) on all lanes.

    A trace named like a command opens as ./NAME.

    \b
    kvtui run chat
    kvtui run trace.csv --headless --json
    kvtui run article --headless
    kvtui run trace.csv --record run.kvtui
    """
    exports, force = options["exports"], options["force"]
    _check(options)
    distinct([path for path in (options["record"], *exports) if path is not None], Path(options["trace"]))
    if options["headless"]:
        load_late("numpy")  # small traces are replayed sooner than it is loaded
    from kvtui.cli.build import experiment_of

    if exports:
        from kvtui.exports import ready

        for path in exports:
            ready(path, force=force)
    experiment = experiment_of(options)
    speed = options["speed"]
    if options["plain"] or options["once"]:
        return _in_lines(experiment, options)
    filming = _filming(experiment, options["record"], force=force)
    if options["headless"]:
        return headless(experiment, filming, as_json=options["as_json"], exports=exports)
    return show_or_print(experiment, filming, speed=speed or DEFAULT_SPEED, **looking(options))


def _in_lines(experiment: Experiment, options: dict[str, Any]) -> int:
    from kvtui.cli import plain
    from kvtui.tui.view.words import language_of

    language = options["language"] or language_of()
    if options["once"]:
        return plain.once(experiment, as_json=options["as_json"], language=language)
    return plain.plain(experiment, every_s=options["every"], speed=options["speed"], language=language)


def show_or_print(experiment: Experiment, filming: Filming | None = None, **look: Any) -> int:
    """Open the screen, or print the summary where there is no terminal. `look` is for `kvtui.tui.run`."""
    from kvtui.tui.terminal import keys_from_the_terminal, terminal_problem

    keys_from_the_terminal()
    problem = terminal_problem()
    if problem:
        print(f"kvtui: {NO_TERMINAL.format(problem)}", file=sys.stderr)
        return headless(experiment, filming, as_json=False)
    from kvtui.cli.device import finish
    from kvtui.tui import run as show

    code = show(experiment, **look, filming=filming)
    finish(experiment)
    return code


def _check(options: dict[str, Any]) -> None:
    ways = [f"--{name}" for name in ("headless", "plain", "once") if options[name]]
    if len(ways) > 1:
        raise click.UsageError(f"{' and '.join(ways)} are different ways to show a run: choose one")
    if options["exports"] and not options["headless"]:
        raise click.UsageError("--export goes with --headless")
    if options["force"] and not (options["exports"] or options["record"]):
        raise click.UsageError("--force goes with --record or --export")
    if options["as_json"] and not (options["headless"] or options["once"]):
        raise click.UsageError("--json goes with --headless or --once")
    if options["record"] and (options["plain"] or options["once"]):
        raise click.UsageError("--record goes with the screen or --headless")


def _filming(experiment: Experiment, path: Path | None, *, force: bool) -> Filming | None:
    if path is None:
        return None
    from kvtui.recording.filming import Filming

    return Filming(path, experiment, force=force)


def headless(
    experiment: Experiment, filming: Filming | None, *, as_json: bool, exports: Sequence[Path] = ()
) -> int:
    """Run all lanes and print what came out; gives the exit code."""
    from kvtui.answers.report import summary
    from kvtui.cli.device import finish, outcome
    from kvtui.cli.progress import Progress

    lanes = experiment.build(watched=filming is not None or bool(exports))
    if exports:
        for lane in lanes:
            assert lane.chronicle is not None
            lane.chronicle.keep_all()
    interrupted = False
    try:
        _run(lanes, Progress(total=len(experiment.workload)), filming)
    except KeyboardInterrupt:
        interrupted = True
        print("kvtui: interrupted; this is how far it came", file=sys.stderr)
    report = summary(experiment, lanes)
    if experiment.workload.name == ARTICLE:
        from kvtui.answers import article

        report["article"] = article.report()
    if filming is not None:
        filming.finish(report)
        if filming.problem:
            print(f"kvtui: the recording ends early: {filming.problem}", file=sys.stderr)
    if exports:
        from kvtui.exports import export
        from kvtui.exports.exhibits import exhibit_of_run

        for path in exports:
            export(exhibit_of_run(experiment, lanes, report), path, force=True)
    _print(report, as_json=as_json)
    finish(experiment)
    ended = 2 if filming is not None and filming.problem else outcome(lanes)
    return 130 if interrupted else ended


def _print(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report, indent=2))
        return
    from kvtui.answers.table import table
    from kvtui.cli.printing import say

    say(table(report))


def _run(lanes: Sequence[Lane], progress: Any, filming: Filming | None) -> None:
    from kvtui.errors import BackendError

    def show(name: str) -> None:
        """One bar for all lanes, which have the same requests."""
        progress.show(name, sum(lane.ended for lane in lanes) // len(lanes))

    def stopped(lane: Lane, error: BackendError) -> None:
        """The other lanes go on."""
        assert lane.times is not None
        lane.times.failure = error
        print(f"kvtui: {lane.info.name} stopped: {error.message}", file=sys.stderr)

    with progress:
        if filming is not None:
            filming.run(lanes, lambda: show("recording"), stopped)
            return
        for lane in lanes:
            try:
                while lane.run(progress.CALLS):
                    show(lane.info.name)
            except BackendError as error:
                stopped(lane, error)
