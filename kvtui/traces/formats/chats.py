"""Conversations as text: ShareGPT, LMSYS-Chat, WildChat. One request for each question that has an answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvtui.traces.formats import plain
from kvtui.traces.gather import Row, broken, gather
from kvtui.traces.loader import Sample
from kvtui.traces.options import Names, Options
from kvtui.traces.records import Record, inside, records
from kvtui.traces.source import Source
from kvtui.traces.text import IDENTIFIED, TokenChains, words_of
from kvtui.traces.tokenizer import Tokenizer, tokenizer_of
from kvtui.traces.workload import Workload

name = "chats"
title = "conversations as text (ShareGPT, LMSYS-Chat, WildChat)"

_LISTS = ("conversations", "conversation", "items", "messages")
_USERS = ("human", "user", "prompter")
_ANSWERERS = ("gpt", "assistant", "chatgpt", "bot", "bing", "bard", "model", "chatbot")
_TIMES = ("timestamp", "create_time", "created")


def matches(sample: Sample) -> bool:
    """A list of turns under one of its names, and no token counts beside it.

    A list named `messages` may be a request as well: it is a conversation if its last turn is an answer.
    """
    if sample.tabular or plain.matches(sample):
        return False
    return any(_is_conversation(record) for record in sample.records)


def _is_conversation(record: Record) -> bool:
    turns = _turns(record)
    if turns is None or any(isinstance(record.get(key), list) for key in _LISTS[:-1]):
        return turns is not None
    return bool(turns) and _role(turns[-1]) in _ANSWERERS


def read(source: Source, sample: Sample, options: Options) -> Workload:
    timed = next((key for key in _TIMES if sample.has(key)), None)
    chains, tokenizer = TokenChains(), tokenizer_of(options)
    names = Names(timed, "the turns before", "the answer")
    columns = gather(
        source, options, names, _rows(source, timed, tokenizer), keep=lambda row: chains.add(row.more)
    )
    said = [tokenizer.said, IDENTIFIED]
    if timed:
        said.append(f"{timed} is when the last answer was stored: turns of a conversation arrive together")
    identity, estimated = chains.chains(columns), tokenizer.estimated
    return columns.workload(_format(sample), chains=identity, assumed=said, estimated=estimated)


def _format(sample: Sample) -> str:
    if sample.has("conversation_hash"):
        return "wildchat"
    return "lmsys-chat" if sample.has("conversation_id", "conversation") else "sharegpt"


def _rows(source: Source, timed: str | None, tokenizer: Tokenizer) -> Iterator[Row]:
    for line, record in records(source):
        if record is None:
            yield broken(line)
            continue
        found = list(_requests(line, record, timed, tokenizer))
        yield from found or [Row(line, why="a conversation without a question that has an answer")]


def _requests(line: int, record: Record, timed: str | None, tokenizer: Tokenizer) -> Iterator[Row]:
    """One for each user turn that is followed by an answer; the prompt is all turns before the answer."""
    before: list[Any] = []
    asked = False
    for turn in _turns(record) or []:
        if not isinstance(turn, dict):
            continue
        role = _role(turn)
        tokens = tokenizer.cut(words_of(turn.get("value") or turn.get("content")))
        if asked and role in _ANSWERERS and tokens:
            yield Row(
                line, record.get(timed) if timed else None, len(before), len(tokens), more=before + tokens
            )
        asked = bool(tokens) and (role in _USERS or (asked and role not in _ANSWERERS))
        before = before + tokens


def _turns(record: Record) -> list[Any] | None:
    """The list of turns, judged by its first item; an empty list is one too."""
    for key in _LISTS:
        turns = record.get(key)
        if isinstance(turns, list) and all(_is_turn(turn) for turn in turns[:1]):
            return turns
    return None


def _role(turn: object) -> str:
    return str(inside(turn, "from") or inside(turn, "role") or "").lower()


def _is_turn(turn: object) -> bool:
    return isinstance(turn, dict) and ({"from", "value"} <= turn.keys() or {"role", "content"} <= turn.keys())
