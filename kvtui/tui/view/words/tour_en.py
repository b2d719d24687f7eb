"""English."""

from __future__ import annotations

from typing import Final

from kvtui.tui.view.words.tour import TourText

TOUR: Final[dict[str, TourText]] = {
    "waste": TourText(
        title="Why does it hold no more than {run}?",
        above="one row = one request = {held} slots",
        notes=(
            "{r} holds {held} slots, like every other",
            "{filled} filled so far",
            "{later} it will still fill",
            "{never} it will never fill",
        ),
        figure="of the memory is locked by requests that will never use it. {wait} more wait outside.",
        text="A manager that hands out contiguous memory cannot know how long an answer will be, so it"
        " reserves"
        " the longest one allowed. The dark part of every row is paid for and empty.",
    ),
    "tables": TourText(
        title="The same memory in blocks: {run} run at once",
        above="one cell = one block = 16 slots",
        notes=("{r} has {tokens} tokens in {blocks} blocks", "its block table:", "{table}"),
        figure="requests at once, on the same memory and the same traffic.",
        text="Paged memory is handed out block by block. The blocks of a request lie anywhere; its"
        " block table"
        " says where each piece is, so no gap is too small to be of use.",
    ),
    "growth": TourText(
        title="A block more only when the last one is full",
        above="the step in which {r} needed room for one more token",
        notes=(
            "{r} got block {new}",
            "{before} blocks were full: {full} tokens",
            "the new one holds 1 of {block}",
        ),
        figure="of the memory is lost: the unfilled ends of last blocks, and nothing else.",
        text="A request holds what it has filled, rounded up to a block. Nobody has to guess how long"
        " the answer"
        " will be, and no request ever reserves more than {block} slots ahead.",
    ),
    "copy": TourText(
        title="Shared until somebody writes: copy-on-write",
        above="several answers to one prompt",
        notes=(
            "{r} was the first to write into a shared block",
            "{copied}: its own copy of the block",
            "the others: shared by {owners} sequences each",
        ),
        figure="blocks saved: the prompt is stored once for all its answers.",
        text="Sequences that begin alike use the same blocks. A block is copied only when one of them has to"
        " write into it, and only that block.",
    ),
    "cache": TourText(
        title="What was computed once is found again",
        above="prompts with the same first {hit} tokens; 2-9: requests that share, +: more",
        notes=(
            "{r} found {hit} of {prompt} tokens",
            "in blocks that {owners} requests share",
            "{rest} tokens were left to compute",
        ),
        figure="of all prompt tokens so far were found in the cache; {saved} copies are saved.",
        text="Full blocks are known by their content and all that came before it. A prompt that begins"
        " like an"
        " earlier one takes over its blocks, without memory or time of its own.",
    ),
    "preemption": TourText(
        title="When no block is left, the youngest gives way",
        above="{r} gave back {given} blocks so that {taker} can go on",
        notes=(
            "{r} was preempted",
            "its blocks: cached as long as nobody needs them",
            "or already taken by others",
        ),
        figure="tokens of {r} may have to be computed again when its turn comes.",
        text="Paged memory promises nothing ahead, so it can run out. Then the request admitted last"
        " goes back to"
        " the queue and all others go on. {run} still run: the price of a full house.",
    ),
    "chunks": TourText(
        title="A long prompt does not stop the others",
        above="the prompt of {r} has {prompt} tokens: more than fit into a step",
        notes=("{r}: {done} tokens so far", "{chunk} of them in this step", "{left} to come, in later steps"),
        figure="of the prompt is computed. In the same step {others} others got their next token.",
        text="A step has a budget of tokens. Answers take one each; what is left goes to prompts, in"
        " chunks. Nobody"
        " waits for a long prompt to be done with, and the GPU is busy in every step.",
    ),
}
