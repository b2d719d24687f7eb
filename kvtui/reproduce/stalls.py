"""What a long prompt does to running decodes: Sarathi-Serve (OSDI 2024)."""

from __future__ import annotations

from kvtui.hardware import catalogue
from kvtui.reproduce.entry import Entry, missing, named
from kvtui.reproduce.settings import Settings
from kvtui.timing.roofline import RooflineCost
from kvtui.units import seconds

SOURCE = "Sarathi-Serve (OSDI 2024), abstract, Fig. 9 and Table 4"
BATCH, CONTEXT = 32, 1024  # decodes that run, and tokens each has stored
BUDGET = 1024  # tokens of a step with chunking, the paper's
PROMPT = 8192  # tokens of a whole prompt beside them


def sarathi(settings: Settings) -> list[Entry]:
    """Times of single steps by the roofline model: decodes alone, beside a whole prompt, beside a chunk."""
    mistral = RooflineCost.of(catalogue.model("mistral-7b"), catalogue.gpu("a100-80"))
    yi = RooflineCost.of(catalogue.model("yi-34b"), catalogue.gpu("a100-80"), tp=2)
    assumed = f"{BATCH} decodes of {CONTEXT:,} tokens"
    alone, whole, chunk = (_step(mistral, tokens) for tokens in (0, PROMPT, BUDGET - BATCH))
    budget = _step(yi, BUDGET - BATCH)
    entries = [
        Entry(
            "chunked_step_s",
            0.14,
            budget,
            30.0,
            note=f"P99 TBT with a budget of {BUDGET}: a full step; {assumed}",
        ),
        Entry(
            "whole_prompt_stall",
            28.3,
            whole / alone,
            note=f"prompt not given: {PROMPT:,} tokens, {assumed}; reported",
        ),
        Entry("chunk_stall", None, chunk / alone, note=f"the same with chunks of {BUDGET - BATCH} tokens"),
        missing("p99_tbt_without_chunks_s", 0.68, source=SOURCE, note="needs openchat's prompt lengths"),
        missing(
            "capacity.mistral-7b",
            2.6,
            source=SOURCE,
            note="needs openchat's lengths, which the text leaves out",
        ),
        missing(
            "capacity.yi-34b", 3.7, source=SOURCE, note="needs openchat's lengths, which the text leaves out"
        ),
    ]
    return named("sarathi", entries, source=SOURCE)


def _step(cost: RooflineCost, prompt: int) -> float:
    """Seconds of a step with `prompt` tokens of a prompt, as its beginning."""
    pairs = prompt * (prompt + 1) // 2
    return seconds(cost.step(BATCH, BATCH * CONTEXT, prompt, pairs))
