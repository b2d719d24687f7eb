"""English."""

from __future__ import annotations

from typing import Final

from kvtui.tui.view.words import Say

CAPTIONS: Final[dict[str, Say]] = {
    "start": Say(
        ("Every lane starts empty. Watch how each gives out the same memory.",),
        line="Every lane starts empty, with the same memory.",
    ),
    "idle": Say(
        ("Nothing runs and nobody waits: the next request has not come yet.",),
        line="Nothing runs: the next request has not come yet.",
    ),
    "turn": Say(("Nothing runs: those who wait begin with the next step.",)),
    "not yet": Say(("{name} branches off at {at}.",), line="{name} branches off at {at}."),
    "both keep up": Say(
        ("Both keep up: {run0} and {run1} requests run, nobody waits.",),
        line="Both keep up: {run0} and {run1} run, nobody waits.",
    ),
    "all keep up": Say(
        ("All keep up: nobody waits in any lane. {name0} runs {run0}, {name1} {run1}.",),
        line="All keep up: nobody waits in any lane.",
    ),
    "alone keeps up": Say(("{name0} keeps up: {run0} requests run, nobody waits.",)),
    "full, region": Say(
        (
            "{name} is full at {run}: each request locks {locked} slots"
            " and has filled {filled} of them on average.",
        ),
        ("{name} is full at {run}: each locks {locked} slots and has filled {filled}.",),
    ),
    "room, region": Say(
        ("{name} runs {run}: each request locks {locked} slots and has filled {filled} of them on average.",),
        ("{name} runs {run}: each locks {locked} slots and has filled {filled}.",),
    ),
    "full, blocks": Say(
        (
            "{name} hands out {block} slots at a time: the same memory holds {run},"
            " and {ends} of it sits in unfilled block ends.",
        ),
        ("{name} adds {block} slots at a time: the same memory holds {run}.",),
    ),
    "room, blocks": Say(
        (
            "{name} hands out {block} slots at a time and runs {run};"
            " {ends} of its memory sits in unfilled block ends.",
        ),
        ("{name} adds {block} slots at a time and runs {run}.",),
    ),
    "last": Say(("{name} has let everybody in. Still running: {run}.",)),
    "done": Say(("{name} has finished everything at {end}.",)),
    "region against blocks": Say(
        (), line="Locked: {locked} each. Filled: {filled}. Full at {run0}; {name1}: {run1}."
    ),
    "cache off": Say(
        ("Without the prefix cache {run} requests run: each keeps its own copy of the same opening prompt.",),
        ("Without the prefix cache {run} run: each keeps its own copy.",),
    ),
    "cache off, too": Say(("Without it {run} run: each keeps its own copy of the same opening prompt.",)),
    "cache on": Say(
        ("With the prefix cache {run} requests run: {shared} blocks are shared and save {saved} copies.",),
        ("With the prefix cache {run} run: {shared} blocks save {saved} copies.",),
    ),
    "cache on, too": Say(("With it {run} run: {shared} blocks are shared and save {saved} copies.",)),
    "counts": Say((), line="{name0} runs {run0}, {name1} runs {run1}."),
    "no gain": Say(
        ("Paging wins little on this traffic: {base} holds {run0}, {name1} {run1}.",),
        line="Paging wins little here: {run0} against {run1}.",
    ),
    "preempted": Say(
        (
            "No free block was left: {victim} gave back {given} blocks so that {taker} can go on."
            " It will be computed again.",
        ),
        ("{victim} gave back {given} blocks so that {taker} can go on. It will be computed again.",),
        "{victim} gave back {given} blocks so that {taker} can go on.",
    ),
    "preempted itself": Say(
        (
            "No free block was left for {victim} to go on: it gave back its {given} blocks and waits."
            " It will be computed again.",
        ),
        ("No block was left for {victim}: it gave back its {given} and will be computed again.",),
        "{victim} found no block and gave back its {given}.",
    ),
    "one done": Say(
        ("{done} has finished everything at {end}; {late} still has {left} requests to go.",),
        line="{done} is done at {end}; {late} has {left} to go.",
    ),
    "one done, one left": Say(
        ("{done} has finished everything at {end}; {late} still has {left} request to go.",),
        line="{done} is done at {end}; {late} has {left} to go.",
    ),
    "end": Say(
        (
            "{fast} finished in {end1}, {slow} in {end0}: the same GPU, {times} times as fast.",
            "S shows the summary.",
        ),
        ("{fast} finished in {end1}, {slow} in {end0}: {times} times as fast.", "S shows the summary."),
        line="{fast} took {end1}, {slow} {end0}. S: summary.",
    ),
    "end, level": Say(
        (
            "{fast} finished in {end1}, {slow} in {end0}: no difference worth having.",
            "S shows the summary.",
        ),
        line="{fast} took {end1}, {slow} {end0}. S: summary.",
    ),
    "end, alone": Say(
        ("{fast} finished in {end1}.", "S shows the summary."), line="{fast} finished in {end1}. S: summary."
    ),
    "end, not whole": Say(("{verdict}", "S shows the summary."), line="{verdict}"),
    "plain": Say(("{name}: {run} running, {wait} waiting, {done} finished.",)),
    "plain, preempted": Say(
        ("{name}: {run} running, {wait} waiting, {done} finished, {preempted} preempted.",),
    ),
    "nothing ran": Say(
        ("No request fits: each needs more memory than the whole pool has.",),
        line="No request fits in this pool.",
    ),
}
