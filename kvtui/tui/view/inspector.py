"""The inspector: one request in all lanes, its blocks, its life, and the life of one of its blocks."""

from __future__ import annotations

from kvtui.frames.chronicle import Tenure
from kvtui.frames.counts import LaneInfo
from kvtui.frames.frame import Cell, Event, EventKind
from kvtui.frames.inspection import BlockLife, Inspected, Inspection, Stand, runs
from kvtui.tui.view import formats
from kvtui.tui.view.canvas import Canvas, Line, cut, cut_wrap, text_width
from kvtui.tui.view.events import detail
from kvtui.tui.view.ink import BAD, BOLD, T1, T2, T3, WARN, WARN_BOLD, Ink, hue_ink, hue_of, lane_ink
from kvtui.tui.view.scene import Scene, labels

_EIGHTHS = " ▏▎▍▌▋▊▉█"
_NAME = 11
TALL = 12  # rows from which blocks and life stand one under the other
_REASON = 4  # rows that why a request waits takes at most
_INKS = {EventKind.PREEMPTED: WARN_BOLD, EventKind.SWAPPED: WARN_BOLD, EventKind.REJECTED: BAD}
_STATES = {Cell.FREE: "free", Cell.HOLE: "in a hole", Cell.CACHED: "cached", Cell.NEVER: "reserved"}


def inspector_lines(
    scene: Scene, shown: Inspected, *, width: int, height: int, margin: int = 2
) -> tuple[Line, ...]:
    """The panel of `width` x `height` cells."""
    canvas = Canvas(width, height)
    _title(canvas, shown, margin)
    y, below = 1, 3 if shown.mine.blocks else 2  # block table and block, or that the table is empty
    for lane, name in enumerate(labels(scene.lanes, width=_NAME)):
        canvas.put(margin, y, name, lane_ink(lane))
        rows = max(1, min(_REASON, height - y - (len(scene.lanes) - lane - 1) - below))
        y += _lane(canvas, y, margin + _NAME + 1, scene.lanes[lane], shown.lanes[lane], rows=rows)
    y += 1
    if height - y < 3:
        y -= 1
    info = scene.lanes[shown.lane]
    if height >= TALL:
        y = _blocks(canvas, y, margin, shown, info, rows=max(3, (height - y) // 2)) + 1
        _life(canvas, y, margin, shown, info, scene.heading.ttft_error)
    elif shown.view == "life" or not _holds(shown):
        _life(canvas, y, margin, shown, info, scene.heading.ttft_error)
    else:
        _blocks(canvas, y, margin, shown, info, rows=height - y)
    return canvas.lines()


def _holds(shown: Inspected) -> bool:
    """Whether there is anything to tell of blocks."""
    return bool(shown.mine.blocks) or shown.block is not None


def sentence(scene: Scene, shown: Inspected) -> str:
    """How the request stands in the chosen lane, and why it waits if it does."""
    mine, name = shown.mine, scene.lanes[shown.lane].title
    who, blocks = formats.request(shown.request), formats.counted(len(mine.blocks), "block")
    match mine.stand:
        case Stand.UNKNOWN if mine.why:
            return f"{name}: how {who} stands is unknown. {mine.why}"
        case Stand.UNKNOWN:
            lost = f"the first {mine.forgotten:,} events are no longer known"
            return f"{name}: how {who} stands is unknown: {lost}."
        case Stand.COMING:
            return f"{name}: {who} has not arrived yet."
        case Stand.FINISHED | Stand.REJECTED:
            last = mine.life[-1]
            words = detail(last, scene.lanes[shown.lane], room=80)
            return f"{name}: {who} was {last.kind.value} at {formats.clock(last.time_s)}: {words}."
        case Stand.RUNNING:
            return f"{name}: {who} runs: {mine.stored:,} tokens stored in {blocks}."
        case _:
            return f"{name}: {who} is {mine.stand.value}. {mine.why}"


def _title(canvas: Canvas, shown: Inspected, margin: int) -> None:
    x = canvas.put(margin, 0, "Inspector", BOLD) + 2
    x = canvas.put(x, 0, "██ ", hue_ink(shown.request))
    x = canvas.put(x, 0, formats.request(shown.request), BOLD) + 2
    arrived = next((e for e in shown.mine.life if e.kind is EventKind.ARRIVED), None)
    if arrived is None:
        canvas.put(x, 0, _unarrived(shown.mine), T3)
        return
    for label, value in (
        ("prompt", f"{arrived.a:,}"),
        ("answer", f"{arrived.b:,} tokens"),
        ("arrived", formats.clock(arrived.time_s)),
    ):
        if x + len(label) + len(value) + 1 < canvas.width - margin:
            x = canvas.put(x, 0, label + " ", T3)
            x = canvas.put(x, 0, value, T2) + 2


def _unarrived(mine: Inspection) -> str:
    """Why no arrival is known."""
    if mine.forgotten and mine.stand is not Stand.COMING:
        return f"its beginning is not known, {mine.forgotten:,} events are forgotten"
    if mine.stand is Stand.UNKNOWN:
        return "not known here"
    return "refused at arrival" if mine.life else "not arrived yet"


def _lane(canvas: Canvas, y: int, x: int, info: LaneInfo, mine: Inspection, *, rows: int) -> int:
    """A bar of what it holds and has filled, in the scale of its longest holding; or how it stands, in up to
    `rows` rows. Gives the rows it took."""
    if not mine.blocks:
        return _standing(canvas, y, x, mine, rows=rows)
    held = len(mine.blocks) * info.block_size
    room = min(32, max(8, canvas.width - x - 46))
    full, rest = divmod(8 * room * mine.stored // held, 8)
    hue = hue_of(mine.request)
    canvas.put(x, y, " " * room, Ink(f"d{hue}", f"d{hue}"))
    canvas.put(x, y, "█" * full + (_EIGHTHS[rest] if rest else ""), Ink(f"h{hue}", f"d{hue}"))
    x = canvas.put(x + room + 2, y, f"{mine.stored:,} filled of {held:,} held", T2)
    x = canvas.put(x + 2, y, formats.share(100 * mine.stored / held), T2)
    shared = sum(refs > 1 for refs in mine.refs)
    words = formats.counted(len(mine.blocks), "block") + (f", {shared:,} shared" if shared else "")
    if x + 3 + len(words) < canvas.width:
        canvas.put(x + 3, y, words, T3)
    return 1


def _standing(canvas: Canvas, y: int, x: int, mine: Inspection, *, rows: int) -> int:
    ink, room = WARN if mine.stand is Stand.PREEMPTED else T3, canvas.width - x - 1
    lines = cut_wrap(f"{mine.stand.value}. {mine.why}".strip(), room, rows)
    for row, line in enumerate(lines):
        canvas.put(x, y + row, line, ink)
    return len(lines)


def _blocks(canvas: Canvas, y: int, margin: int, shown: Inspected, info: LaneInfo, *, rows: int) -> int:
    """The block table, logical → physical, and the chosen block; gives the row behind."""
    bottom = min(y + rows, canvas.height)
    block_rows = 2 if rows >= 3 and shown.block is not None else min(1, rows - 1)
    y = _table(canvas, y, bottom - block_rows, margin, shown)
    if shown.block is not None and y < bottom:
        y = _block(canvas, y, bottom, margin, shown, shown.block, info)
    return y


def _table(canvas: Canvas, y: int, bottom: int, margin: int, shown: Inspected) -> int:
    mine = shown.mine
    x = start = canvas.put(margin, y, "block table ", T3)
    chosen = shown.block.block if shown.block is not None else -1
    entries = runs(mine.blocks)
    for at, (logical, physical, count) in enumerate(entries):
        left = text_range(logical, count) + "→"
        right = text_range(physical, count)
        rest = f"and {len(entries) - at:,} more"
        last = y + 1 >= bottom and at + 1 < len(entries)
        if x + text_width(left + right) > canvas.width - margin - (len(rest) + 3 if last else 0):
            if y + 1 >= bottom:
                canvas.put(x, y, rest, T3)
                return bottom
            x, y = start, y + 1
        x = canvas.put(x, y, left, T3)
        x = canvas.put(x, y, right, BOLD if physical <= chosen < physical + count else T1) + 3
    if not entries:
        canvas.put(x, y, "empty", T3)
    return y + 1


def text_range(first: int, count: int) -> str:
    """`7`, `7–9`."""
    return f"{first}" if count == 1 else f"{first}–{first + count - 1}"


def _block(
    canvas: Canvas, y: int, bottom: int, margin: int, shown: Inspected, block: BlockLife, info: LaneInfo
) -> int:
    """Fill, references, key and sharers in a row, and in the next who owned it when."""
    x = canvas.put(margin, y, f"block {block.block} ", T2) + 1
    state = _STATES.get(block.state, "")
    x = canvas.put(x, y, state or f"fill {block.filled}/{info.block_size}", T1) + 2
    mine = shown.mine
    if block.block in mine.blocks:
        at = mine.blocks.index(block.block)
        x = canvas.put(x, y, f"logical {at}", T3) + 2
        x = canvas.put(x, y, f"ref {mine.refs[at]}", T3) + 2
        key = mine.keys[at]
        x = canvas.put(x, y, f"key {key:x}" if key is not None else "no prefix key", T3) + 2
        others = mine.others.get(block.block, ())
        if others:
            x = canvas.put(x, y, "shared with ", T3)
            _requests(canvas, x, y, others, margin)
    if y + 1 < bottom:
        y += 1
        x = canvas.put(margin, y, "owners ", T3)
    _owners(canvas, x, y, margin, block.tenures)
    return y + 1


def _requests(canvas: Canvas, x: int, y: int, requests: tuple[int, ...], margin: int) -> None:
    for at, request in enumerate(requests):
        name = formats.request(request)
        if x + len(name) + 9 > canvas.width - margin:
            canvas.put(x, y, f"+{len(requests) - at}", T3)
            return
        x = canvas.put(x, y, "▍", hue_ink(request))
        x = canvas.put(x, y, name, T2) + 1


def _owners(canvas: Canvas, x: int, y: int, margin: int, tenures: tuple[Tenure, ...]) -> None:
    """The newest owners that fit, oldest first."""
    if not tenures:
        canvas.put(x, y, "nobody so far", T3)
        return
    texts = [(tenure, _tenure(tenure)) for tenure in tenures]
    room, kept = canvas.width - margin - x - 8, 0
    while kept < len(texts) and room >= 0:
        tenure, words = texts[-1 - kept]
        room -= len(formats.request(tenure.request)) + text_width(words) + 4
        kept += room >= 0
    kept = max(kept, 1)
    if kept < len(texts):
        x = canvas.put(x, y, f"+{len(texts) - kept} ", T3) + 1
    for tenure, words in texts[-kept:]:
        x = canvas.put(x, y, "▍", hue_ink(tenure.request))
        x = canvas.put(x, y, formats.request(tenure.request), T2) + 1
        x = canvas.put(x, y, words, T3) + 2


def _tenure(tenure: Tenure) -> str:
    until = "now" if tenure.until_s is None else formats.clock(tenure.until_s)
    fate = f", {tenure.fate}" if tenure.fate else ""
    return f"{formats.clock(tenure.since_s)}–{until}{', by prefix' if tenure.shared else ''}{fate}"


def _life(canvas: Canvas, y: int, margin: int, shown: Inspected, info: LaneInfo, error: str) -> None:
    """What happened, newest last; where there is no room for all, the newest. A predicted time stands with
    the `error` of such times."""
    events = told(shown.mine.life)
    room = canvas.height - y
    if len(events) > room > 0:
        canvas.put(margin, y, f"{len(events) - room + 1:,} earlier", T3)
        events, y = events[-(room - 1) :] if room > 1 else [], y + 1
    for event, words in events:
        canvas.put(margin, y, formats.clock(event.time_s), T3)
        x = canvas.put(margin + 9, y, f"{event.kind.value:<12}", _INKS.get(event.kind, T2))
        words = words or detail(event, info, room=60)
        if event.kind is EventKind.FIRST_TOKEN and info.label == "simulated" and error:
            words = f"{words}, {error}"
        canvas.put(x, y, cut(words, canvas.width - x - 1), T3)
        y += 1


def told(life: tuple[Event, ...]) -> list[tuple[Event, str]]:
    """The events of a life, chunks of one prompt run together; with words where they need others than a log
    has."""
    result: list[tuple[Event, str]] = []
    chunks: list[Event] = []
    preempted = 0
    for event in life:
        if event.kind is EventKind.CHUNK:
            chunks.append(event)
            continue
        if chunks:
            result.append(_chunks(chunks))
            chunks = []
        words = ""
        if event.kind is EventKind.ADMITTED and preempted:
            words = f"again: {event.a:,} tokens are computed once more"
        preempted += event.kind in (EventKind.PREEMPTED, EventKind.SWAPPED)
        result.append((event, words))
    return [*result, _chunks(chunks)] if chunks else result


def _chunks(chunks: list[Event]) -> tuple[Event, str]:
    tokens = sum(event.a for event in chunks)
    steps = "one step" if len(chunks) == 1 else f"{len(chunks):,} steps"
    return chunks[-1], f"{tokens:,} tokens computed in {steps}"
