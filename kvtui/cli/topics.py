"""`kvtui help TOPIC`: the concepts in plain words."""

from __future__ import annotations

import re
from importlib.resources import files

import click

from kvtui.cli import completion


@click.command("help", short_help="What words mean: kvtui help waste.")
@click.argument("words", nargs=-1, metavar="[TOPIC]", shell_complete=completion.topics)
def explain(words: tuple[str, ...]) -> None:
    """Explain TOPIC in plain words, or list the topics.

    \b
    kvtui help
    kvtui help preemption
    """
    from difflib import get_close_matches

    from kvtui.cli.printing import paragraphs, say, width
    from kvtui.errors import ConfigError

    found, topic = topics(), " ".join(words)
    if not topic:
        longest = max(map(len, found))
        click.echo("\n".join(f"{name:<{longest}}  {about}" for name, (about, _) in found.items()))
        return
    name = topic.lower().replace("_", "-").replace(" ", "-")
    if name not in found:
        word = re.compile(rf"\b{re.escape(topic)}s?\b", re.IGNORECASE)
        told = {
            each: len(word.findall(" ".join(f"{about} {text}".split())))
            for each, (about, text) in found.items()
        }
        most = max(told, key=told.__getitem__)
        close = get_close_matches(name, found, n=1)
        hint = f"did you mean {close[0]}?" if close else "kvtui help lists the topics"
        if told[most]:
            hint = f"kvtui help {most} speaks of it"
        raise ConfigError(f"there is no topic '{topic}'.", hint=_command(words) or hint)
    about, text = found[name]
    say(f"{name}: {about}\n\n{text if width() is None else paragraphs(text)}")


def _command(words: tuple[str, ...]) -> str:
    """What explains a command, or a bundled workload; "" for a word that is neither."""
    from kvtui.cli.story import COMMANDS
    from kvtui.traces.synthetic import bundled

    if words[0] in COMMANDS:
        return f"{words[0]} is a command: kvtui {' '.join(words)} --help"
    return (
        f"{topic} is a workload: kvtui trace info {topic}" if (topic := " ".join(words)) in bundled() else ""
    )


def topics() -> dict[str, tuple[str, str]]:
    """What each topic is about, and its text."""
    whole = files("kvtui").joinpath("data", "topics.txt").read_text("utf-8")
    found = {}
    for part in whole.split("\n= "):
        head, _, text = part.removeprefix("= ").partition("\n")
        name, _, about = head.partition(": ")
        found[name] = about, text.strip()
    return found | {"figures": ("what each figure of a lane is", _figures())}


def _figures() -> str:
    """The terms, but for the parts of memory, of which a topic of its own speaks."""
    from kvtui.terms import GOODPUT, HELD_EMPTY, PARTS, TERMS

    told = [*(term for term in TERMS if term not in PARTS), GOODPUT, HELD_EMPTY]
    rows = [f"  {term.name:<19}{term.means}" for term in told]
    return "\n".join([*rows, "The parts of the pool: kvtui help waste. Places in JSON: the README."])
