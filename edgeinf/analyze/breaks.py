"""Where prompts stop sharing their start with an earlier one: the message, its span, what it costs, what to do.

Stretches of a log are read again. A prompt is compared with the one most like it: of those shortly before it of the
same application, the one before it of its session, and the one that shares most of its blocks. A log with few long
prompts is compared whole. As in the rest of the prefix cache's findings, all who use a model share its cache, and
entries do not end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from edgeinf.analyze.asking import instructions
from edgeinf.analyze.blocks import BLOCK_BYTES, BYTES_PER_TOKEN
from edgeinf.analyze.log import Log
from edgeinf.analyze.parting import Parting, Piece, Place, advice, alike, common, common_end, laid_out, named, part
from edgeinf.analyze.record import call_of
from edgeinf.analyze.stack import FIRST, previous
from edgeinf.core.errors import CallError
from edgeinf.core.redact import redact

__all__ = ["Also", "Break", "Breaks", "breaks"]

_STRETCHES = 24
_STRETCH = 24  # prompts that follow one another in one application,
_LEAD = 16  # and those before them that they are compared with
_MOST_BYTES = 32 * 2**20  # of prompts read again, in all
_AT_ONCE = 8 * 2**20
_ALIKE = 0.3  # a prompt that shares less, with what is behind the parting, is of another application
_LABEL_CHARS, _LABEL_TELLS = 48, 24
_FIXED_TURNS = 2  # a message further on stands at another number in every conversation
_LIKE_SPAN = frozenset({"id", "number", "white space"})


class Also(msgspec.Struct, frozen=True, kw_only=True):
    """A place that must move together with the first."""

    path: str
    kind: str
    what: str
    start: int | None
    end: int | None


class Break(msgspec.Struct, frozen=True, kw_only=True):
    """Where the prompts of an application part first; characters ``start`` to ``end`` of the text at ``path``.

    ``prompts`` and ``tokens`` are of the whole log. ``shared`` is how many tokens stand before the place on average,
    ``tokens`` how many behind it are the same again and would be shared if the place came last.
    """

    route: str | None
    template: str | None
    path: str
    role: str
    kind: str
    what: str
    start: int | None
    end: int | None
    prompts: int
    share: float
    shared: float
    tokens: int
    also: tuple[Also, ...]
    advice: str
    a: str
    b: str


class Breaks(msgspec.Struct, frozen=True, kw_only=True):
    """All such places, the costliest first. ``broken`` are prompts with more of the same behind their parting."""

    prompts: int
    compared: int
    sampled: bool
    broken: int
    tokens: int
    places: list[Break]


class _Prompt(msgspec.Struct, frozen=True):
    pieces: list[Piece]
    marks: dict[int, int]
    instructions: str
    per_char: float
    chars: int


class _Stretch(msgspec.Struct, frozen=True):
    """Rows of one application in the order of time, the first ``lead`` of them only for the others."""

    rows: list[int]
    lead: int


class _Found(msgspec.Struct, frozen=True):
    row: int
    template: str
    parting: Parting
    per_char: float


def breaks(log: Log, before: Any) -> Breaks | None:
    """Return the places; None where the log has no text. ``before`` is the earlier place of each block."""
    if log.blocks is None or not log.keys_known:
        return None
    long = np.flatnonzero(log.blocks > 0)
    if not len(long):
        return None
    ends = np.cumsum(log.blocks, dtype=np.int64)
    in_session = _in_session(log, long)
    found: list[_Found] = []
    compared = 0
    for some in _batches(log, _stretches(log, long)):
        wanted = [row for stretch in some for row in stretch.rows[stretch.lead :]]
        nearest = {
            row: [other for other in (_sharing_most(before, ends, row), in_session.get(row)) if other is not None]
            for row in wanted
        }
        read = {row for stretch in some for row in stretch.rows}.union(*nearest.values())
        prompts = _prompts(log, read)
        compared += len(wanted)
        for stretch in some:
            found += _compared(stretch, nearest, prompts)
    weight = len(long) / compared
    places = _ranked(log, found, weight, compared)
    return Breaks(
        prompts=len(long),
        compared=compared,
        sampled=compared < len(long),
        broken=round(weight * len(found)),
        tokens=sum(place.tokens for place in places),
        places=places,
    )


def _stretches(log: Log, long: Any) -> list[_Stretch]:
    """Return all long prompts in stretches or, of a large log, stretches at even distances."""
    assert log.blocks is not None
    numbers: dict[tuple[object, ...], int] = {}
    number = np.array([numbers.setdefault((g.context, g.model, g.route), len(numbers)) for g in log.groups], np.uint32)
    application = number[log.group[long]]
    by_application = np.argsort(application, kind="stable")
    order, application = long[by_application], application[by_application]
    mean = float(log.blocks[long].mean()) * BLOCK_BYTES
    most = max(4, min(_STRETCHES, int(_MOST_BYTES / (mean * (_STRETCH + _LEAD)))))
    whole = len(order) <= most * _STRETCH
    starts = range(0, len(order), _STRETCH if whole else len(order) // most)
    found = []
    for start in starts:
        stop = min(start + _STRETCH, len(order))
        at = start
        while at < stop:
            first, end = (int(np.searchsorted(application, application[at], side)) for side in ("left", "right"))
            lead = min(_LEAD, at - first)
            found.append(_Stretch(order[at - lead : min(stop, end)].tolist(), lead))
            at = end
    return found


def _batches(log: Log, stretches: list[_Stretch]) -> Iterator[list[_Stretch]]:
    """Yield stretches whose prompts are held at one time; of one that is too large, its beginning."""
    assert log.blocks is not None
    some: list[_Stretch] = []
    size = 0
    for stretch in stretches:
        sizes = np.cumsum(log.blocks[stretch.rows], dtype=np.int64) * BLOCK_BYTES
        fits = max(stretch.lead + 1, int(np.searchsorted(sizes, _AT_ONCE, side="right")))
        if some and size + int(sizes[-1]) > _AT_ONCE:
            yield some
            some, size = [], 0
        some.append(_Stretch(stretch.rows[:fits], stretch.lead))
        size += int(sizes[-1])
    if some:
        yield some


def _sharing_most(before: Any, ends: Any, row: int) -> int | None:
    """Return the latest earlier row that shares the longest run of blocks, if one shares any."""
    start = int(ends[row - 1]) if row else 0
    known = before[start : int(ends[row])] != FIRST
    run = len(known) if known.all() else int(np.argmin(known))
    return int(np.searchsorted(ends, before[start + run - 1], side="right")) if run else None


def _in_session(log: Log, long: Any) -> dict[int, int]:
    """Return the row before each in its session, where sessions are known."""
    if log.session is None:
        return {}
    before = previous(log.session[long])
    known = np.flatnonzero((before != FIRST) & (log.session[long] != 0))
    return dict(zip(long[known].tolist(), long[before[known]].tolist(), strict=True))


def _prompts(log: Log, rows: set[int]) -> dict[int, _Prompt]:
    """Read prompts again and lay them out."""
    found = {}
    for row, record in log.fetch(np.array(sorted(rows), np.int64)):
        try:
            call = call_of(record)
        except CallError:
            continue
        if call is None:
            continue
        pieces = laid_out(call.body)
        chars = sum(piece.chars for piece in pieces)
        counted = 0 if log.input is None else int(log.input[row])
        said = instructions(call.body)
        found[row] = _Prompt(
            pieces=pieces,
            marks={piece.mark: piece.chars for piece in pieces},
            instructions=said,
            per_char=counted / chars if counted > 0 else 1 / BYTES_PER_TOKEN,
            chars=chars,
        )
    return found


def _compared(stretch: _Stretch, nearest: dict[int, list[int]], prompts: dict[int, _Prompt]) -> Iterator[_Found]:
    """Yield the partings with something behind them."""
    earlier: list[_Prompt] = []
    for place, row in enumerate(stretch.rows):
        prompt = prompts.get(row)
        if prompt is None:
            continue
        if place >= stretch.lead:
            others = [prompts[other] for other in nearest[row] if other in prompts] + earlier[::-1]
            if others:
                other = max(others, key=lambda known: _likeness(known, prompt))
                parting = part(other.pieces, prompt.pieces)
                if parting.places and parting.shared + parting.recoverable >= _ALIKE * prompt.chars:
                    yield _Found(row, _label(other, prompt), parting, prompt.per_char)
        earlier.append(prompt)
        del earlier[:-_LEAD]


def _likeness(a: _Prompt, b: _Prompt) -> int:
    """Return about how many characters two prompts share: whole pieces, and both ends of the system prompt."""
    start = common(a.instructions, 0, b.instructions, 0)
    return alike(a.marks, b.marks) + start + common_end(a.instructions, start, b.instructions, start)


def _label(a: _Prompt, b: _Prompt) -> str:
    """Return how the prompts of an application begin, as far as they are the same."""
    same = b.instructions[: min(common(a.instructions, 0, b.instructions, 0), 2 * _LABEL_CHARS)]
    if len(same) < len(b.instructions):
        same = same[: same.rfind(" ") + 1]
    same = " ".join(redact(re.split(r"\d", same, maxsplit=1)[0]).split())
    return same if len(same) <= _LABEL_CHARS else same[: _LABEL_CHARS - 1] + "…"


def _ranked(log: Log, found: list[_Found], weight: float, compared: int) -> list[Break]:
    groups: dict[tuple[str | None, str, str, str], list[_Found]] = {}
    for one in found:
        route = log.groups[int(log.group[one.row])].route
        place = one.parting.places[0]
        kind = "span" if place.kind in _LIKE_SPAN else place.kind
        template = "" if route is not None else one.template[:_LABEL_TELLS]
        groups.setdefault((route, template, _place(place.path), kind), []).append(one)
    places = [_break(route, some, weight, compared) for (route, _, _, _), some in groups.items()]
    return sorted(places, key=lambda place: (-place.tokens, place.path, place.kind))


def _place(path: str) -> str:
    """Return a path without the number of a message that stands elsewhere in every conversation."""
    return re.sub(r"^\$\.(?:messages|input)\[(\d+)\]", lambda m: m[0] if int(m[1]) < _FIXED_TURNS else "[]", path)


def _break(route: str | None, some: list[_Found], weight: float, compared: int) -> Break:
    """Return what the partings at one place have in common; its span is the usual one and those that overlap it."""
    firsts = [one.parting.places[0] for one in some]
    path = Counter(place.path for place in firsts).most_common(1)[0][0]
    usual = Counter((place.kind, place.start) for place in firsts if place.path == path).most_common(1)[0][0]
    typical = next(place for place in firsts if place.path == path and (place.kind, place.start) == usual)
    start, end = _overlapping(typical, firsts)
    return Break(
        route=route,
        template=None if route is not None else some[0].template or None,
        path=path,
        role=typical.role,
        kind=typical.kind,
        what=named(typical),
        start=start,
        end=end,
        prompts=round(weight * len(some)),
        share=len(some) / compared,
        shared=sum(one.parting.shared * one.per_char for one in some) / len(some),
        tokens=round(weight * sum(one.parting.recoverable * one.per_char for one in some)),
        also=_also(some),
        advice=advice(typical),
        a=redact(typical.a),
        b=redact(typical.b),
    )


def _overlapping(typical: Place, places: list[Place]) -> tuple[int | None, int | None]:
    start, end = typical.start, typical.end
    if start is None or end is None:
        return start, end
    spans = [
        (place.start, place.end)
        for place in places
        if place.path == typical.path and place.start is not None and place.end is not None
        if place.start < end and start < place.end
    ]  # fmt: skip
    return min([start, *(one for one, _ in spans)]), max([end, *(other for _, other in spans)])


def _also(some: list[_Found]) -> tuple[Also, ...]:
    """Return what usually follows: places that at least half of these prompts have in common."""
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], Place] = {}
    for one in some:
        for place in one.parting.places[1:]:
            counts[place.path, place.kind] += 1
            examples.setdefault((place.path, place.kind), place)
    usual = [examples[key] for key, count in counts.most_common() if 2 * count >= len(some)]
    return tuple(
        Also(path=place.path, kind=place.kind, what=named(place), start=place.start, end=place.end) for place in usual
    )
