"""What is shown on the tour, in this order."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from kvtui.frames.frame import EventKind
from kvtui.serving.request import Request
from kvtui.tui.tour.act import Moment, Pointing, TourScene
from kvtui.tui.tour.traffic import BLOCK, LONG, OPENING, chat, one_long, same_opening, several_answers, world
from kvtui.tui.view import formats
from kvtui.tui.view.cells import Kind

SHOWN = 9  # entries of a block table


def _blocks(request: Request) -> frozenset[int]:
    return frozenset(block - 1 for block in request.table)


def _name(request: Request) -> str:
    return formats.request(request.number)


# ---- contiguous waste


def _full(moment: Moment, rows: int) -> bool:
    scheduler = moment.lane.engine.scheduler
    return len(scheduler.running) == rows and len(scheduler.waiting) >= rows


def _waste(moment: Moment) -> Pointing:
    chosen = max(moment.running, key=lambda r: (r.reserved - r.prompt - r.output, r.number))
    stored = moment.stored_now(chosen)
    first = chosen.taken
    return Pointing(
        lit=frozenset(range(first, first + chosen.reserved // BLOCK)),
        at=first + chosen.reserved // BLOCK - 1,
        values={
            "r": _name(chosen),
            "run": str(len(moment.running)),
            "held": f"{chosen.reserved:,}",
            "filled": f"{stored:,}",
            "later": f"{chosen.prompt + chosen.output - stored:,}",
            "never": f"{chosen.reserved - chosen.prompt - chosen.output:,}",
            "wait": str(len(moment.lane.engine.scheduler.waiting)),
        },
        figure=f"{moment.lane.frame().counters.split.internal:.0f}",
        unit="%",
        swatches=(None, Kind.STORED, Kind.LATER, Kind.NEVER),
    )


# ---- block tables


def _churned(moment: Moment, rows: int) -> bool:
    """Whether requests have come and gone, so that free blocks lie scattered, and many run."""
    engine = moment.lane.engine
    return engine.results.finished >= rows and len(moment.running) >= 2 * rows


def _scattered(moment: Moment) -> Pointing:
    chosen = max(moment.running, key=lambda r: (_breaks(r), -r.number))
    table = [block - 1 for block in chosen.table]
    entries = "  ".join(f"{at}→{block}" for at, block in enumerate(table[:SHOWN]))
    return Pointing(
        lit=_blocks(chosen),
        at=table[-1],
        values={
            "r": _name(chosen),
            "tokens": f"{moment.stored_now(chosen):,}",
            "blocks": str(len(table)),
            "table": entries + (" …" if len(table) > SHOWN else ""),
            "run": str(len(moment.running)),
        },
        figure=str(len(moment.running)),
    )


def _breaks(request: Request) -> int:
    table = request.table
    return sum(b != a + 1 for a, b in pairwise(table))


# ---- growth


def _grown(moment: Moment) -> Request | None:
    """A request that has just been given a block for the first token that did not fit any more."""
    for request in moment.running:
        before = moment.tables.get(request.number, ())
        if 3 <= len(before) < len(request.table) and moment.stored_now(request) == BLOCK * len(before) + 1:
            return request
    return None


def _grows(moment: Moment, rows: int) -> bool:
    return moment.lane.engine.results.finished >= rows // 2 and _grown(moment) is not None


def _growth(moment: Moment) -> Pointing:
    chosen = _grown(moment)
    assert chosen is not None
    new = chosen.table[-1] - 1
    return Pointing(
        lit=_blocks(chosen),
        at=new,
        values={
            "r": _name(chosen),
            "before": str(len(chosen.table) - 1),
            "full": f"{BLOCK * (len(chosen.table) - 1):,}",
            "new": str(new),
            "block": str(BLOCK),
        },
        figure=f"{moment.lane.frame().counters.split.tail:.1f}",
        unit="%",
        swatches=(None, Kind.STORED, Kind.PART),
    )


# ---- copy-on-write


def _copies(moment: Moment, rows: int) -> bool:
    return len(moment.running) >= rows and bool(moment.lane.frame().copied)


def _copying(moment: Moment) -> Pointing:
    frame = moment.lane.frame()
    at = frame.copied[0]
    cells = frame.cells
    chosen = next(r for r in moment.running if at + 1 in r.table)
    shared = cells.refs[cells.refs > 1].astype(int)
    return Pointing(
        lit=_blocks(chosen),
        at=at,
        values={
            "r": _name(chosen),
            "copied": str(at),
            "owners": str(int(cells.refs[sorted(_blocks(chosen))].max())),
        },
        figure=str(int((shared - 1).sum())),
        swatches=(None, Kind.COPIED, Kind.SHARED),
    )


# ---- prefix cache


def _hit(moment: Moment) -> Request | None:
    events = moment.lane.frame().events
    last = moment.lane.step_count - 1
    names = {e.request for e in events if e.step >= last and e.kind is EventKind.HIT}
    return next((r for r in moment.running if r.number in names), None)


def _finds(moment: Moment, rows: int) -> bool:
    return len(moment.running) >= rows and _hit(moment) is not None


def _sharing(moment: Moment) -> Pointing:
    chosen = _hit(moment)
    assert chosen is not None
    frame = moment.lane.frame()
    refs = frame.cells.refs
    shared = refs[refs > 1].astype(int)
    counters = frame.counters
    return Pointing(
        lit=_blocks(chosen),
        at=chosen.table[OPENING // BLOCK - 1] - 1,
        values={
            "r": _name(chosen),
            "hit": str(OPENING),
            "prompt": str(chosen.prompt),
            "rest": str(chosen.prompt - OPENING),
            "owners": str(int(shared.max())),
            "saved": str(int((shared - 1).sum())),
        },
        figure=f"{100 * counters.hit_tokens / counters.query_tokens:.0f}",
        unit="%",
        swatches=(None, Kind.SHARED, Kind.STORED),
    )


# ---- preemption


def _runs_out(moment: Moment, rows: int) -> bool:
    return moment.lane.engine.scheduler.preemptions > 0


def _gives_way(moment: Moment) -> Pointing:
    event = next(e for e in moment.lane.frame().events if e.kind is EventKind.PREEMPTED)
    given = [block - 1 for block in moment.tables[event.request]]
    return Pointing(
        lit=frozenset(given),
        at=given[-1],
        values={
            "r": formats.request(event.request),
            "taker": formats.request(event.b),
            "given": str(event.a),
            "run": str(len(moment.running)),
        },
        figure=str(moment.stored[event.request]),
        swatches=(None, Kind.CACHED, Kind.STORED),
    )


# ---- chunked prefill


def _chunk(moment: Moment) -> tuple[Request, int] | None:
    """The long prompt in the midst of being computed, and the tokens of its last chunk."""
    for request in moment.running:
        if request.prompt == LONG and request.chunking and moment.stored.get(request.number):
            return request, request.computed - moment.stored[request.number]
    return None


def _chunks(moment: Moment, rows: int) -> bool:
    return _chunk(moment) is not None


def _chunking(moment: Moment) -> Pointing:
    found = _chunk(moment)
    assert found is not None
    request, tokens = found
    return Pointing(
        lit=_blocks(request),
        at=request.table[-1] - 1,
        values={
            "r": _name(request),
            "prompt": f"{request.prompt:,}",
            "done": f"{request.computed:,}",
            "chunk": f"{tokens:,}",
            "left": f"{request.prompt - request.computed:,}",
            "others": str(len(moment.running) - 1),
        },
        figure=f"{100 * request.computed / request.prompt:.0f}",
        unit="%",
        swatches=(None, Kind.STORED),
    )


SCENES: Final = (
    TourScene("waste", lambda rows: world(chat(rows), "contiguous"), _full, _waste),
    TourScene("tables", lambda rows: world(chat(rows), "paged"), _churned, _scattered),
    TourScene("growth", lambda rows: world(chat(rows), "paged"), _grows, _growth),
    TourScene("copy", lambda rows: world(several_answers(rows), "vllm-sosp"), _copies, _copying),
    TourScene("cache", lambda rows: world(same_opening(rows), "paged"), _finds, _sharing),
    TourScene("preemption", lambda rows: world(chat(rows), "paged"), _runs_out, _gives_way),
    TourScene("chunks", lambda rows: world(one_long(rows), "paged", budget=8 * rows), _chunks, _chunking),
)
