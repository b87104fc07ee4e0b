"""Where two prompts part, and what is the same behind that place and is paid for again.

A provider's prefix cache ends at the first difference. Prompts are compared in the order in which providers lay them
out: tools, system prompt, messages; the order of an object's keys is no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from edgeinf.analyze.blocks import BLOCK_BYTES
from edgeinf.analyze.causes import cause_of
from edgeinf.analyze.diff import Difference, differences

__all__ = ["Parting", "Piece", "Place", "advice", "alike", "common", "common_end", "laid_out", "named", "part"]

_ONCE = ("tools", "system", "instructions")  # then the turns, in one of these:
_TURNS = ("messages", "input", "prompt")
_SPOKEN = frozenset({"user", "assistant", "tool", "function"})
_WORTH = BLOCK_BYTES // 4  # characters behind a place below which moving it brings nothing
_REACH = 256  # how long a span may be for the text behind it to be found again
_SAME = 24  # so many equal characters are no accident
_MOST_SPANS = 12
_MOST_PLACES = 12
_MOST_MOVED = 64  # messages that may have gone or come at one place
_AROUND = 60  # what a mask needs to know a label by
_WORD = 40
_SHOWN = 120

_encode = msgspec.json.Encoder().encode
_sorted = msgspec.json.Encoder(order="sorted").encode


class Piece(msgspec.Struct, frozen=True):
    """One tool, one message or the like: its JSON path, who says it, its value, how long its JSON is, and a mark that
    equal values share."""

    section: str
    path: str
    role: str
    value: Any
    chars: int
    mark: int


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where two prompts differ: its JSON path, the characters of the later prompt's text (None where it is no text),
    and how many characters behind it are the same again up to the next such place."""

    path: str
    role: str
    kind: str
    start: int | None = None
    end: int | None = None
    a: str = ""
    b: str = ""
    behind: int = 0
    stretches: tuple[str, str] | None = None  # both sides with what stands around them, until their kind is known


class Parting(msgspec.Struct, frozen=True):
    """``places`` are those that must go together for what is behind the first to be shared; none where nothing is."""

    shared: int
    places: tuple[Place, ...]

    @property
    def recoverable(self) -> int:
        """Return how many characters behind the first place would be shared if all of them were at the end."""
        return sum(place.behind for place in self.places)


def laid_out(body: dict[str, Any]) -> list[Piece]:
    """Return a prompt in pieces, in the order in which ``blocks.prompt_blocks`` cuts it."""
    pieces: list[Piece] = []
    for section in (*_ONCE, *_TURNS):
        if section not in body or (body[section] is None and section in _TURNS):
            continue
        value = body[section]
        role = "tools" if section == "tools" else "system" if section in _ONCE else "user"
        if not isinstance(value, list):
            pieces.append(_piece(section, f"$.{section}", role, value))
            continue
        for number, item in enumerate(value):
            said = item.get("role") if isinstance(item, dict) and section in _TURNS else None
            pieces.append(_piece(section, f"$.{section}[{number}]", str(said) if said else role, item))
    return pieces


def _piece(section: str, path: str, role: str, value: Any) -> Piece:
    written = _sorted(value)
    return Piece(section, path, role, value, len(written) + 1, hash(written))


def alike(a: dict[int, int], b: dict[int, int]) -> int:
    """Return how many characters of whole pieces two prompts share, wherever they stand; each is {mark: characters}."""
    return sum(b[mark] for mark in a.keys() & b.keys())


def part(a: list[Piece], b: list[Piece]) -> Parting:
    """Compare an earlier prompt with a later one, as far as scaffolding makes them differ: what is said ends it."""
    shared, places = 0, list[Place]()
    for found in _prompts(a, b):
        if not isinstance(found, Place):
            if places:
                places[-1] = msgspec.structs.replace(places[-1], behind=places[-1].behind + found)
            else:
                shared += found
        elif len(places) == _MOST_PLACES or (places and {found.role, places[0].role} & _SPOKEN):
            break
        else:
            places.append(found)
    while places and places[-1].behind < _WORTH:
        places.pop()
    return Parting(shared, tuple(map(_of_kind, places)))


_NAMED = {
    "dropped": "turns dropped from the front of the history",
    "inserted": "a message put between earlier ones",
    "items": "another set of tools",
}
_ADVICE = {
    "order": "sort the tools before sending",
    "items": "send the same tools every time, and say with tool_choice which may be called",
    "dropped": "drop old turns seldom and many at once: each cut makes all that follows new",
    "inserted": "add it at the end, behind what was sent before",
    "timestamp": "move it to the end, or round it",
    "request-id": "move it to the end, or send it in a header or in metadata",
    "uuid": "move it to the end, or send it in a header or in metadata",
    "id": "move it to the end, or send it in a header or in metadata",
    "absent": "send one value every time",
    "value": "send one value every time",
}


def named(place: Place) -> str:
    """Return what changes at a place, for people."""
    if place.kind in _NAMED and (place.kind != "items" or place.role == "tools"):
        return _NAMED[place.kind]
    role = "" if place.role == "tools" else place.role
    cause = cause_of(Difference(place.path, role, place.kind, place.a, place.b))
    return cause.what if cause is not None else f"what changes in the {place.role or 'next'} message"


def advice(place: Place) -> str:
    """Return what to do about a place."""
    if place.kind in _ADVICE:
        return _ADVICE[place.kind]
    return "put what stays the same before it" if place.role in _SPOKEN else "move it to the end"


Found = Place | int  # a difference, or so many characters that are the same


def _prompts(a: list[Piece], b: list[Piece]) -> Iterator[Found]:
    at = 0
    same = 0
    for x, y in zip(a, b, strict=False):
        if x.path != y.path or x.mark != y.mark:
            break
        same += y.chars
        at += 1
    yield same
    a, b = a[at:], b[at:]
    for section in dict.fromkeys(piece.section for piece in (*a, *b)):
        xs, ys = ([piece for piece in pieces if piece.section == section] for pieces in (a, b))
        if section in _TURNS:
            yield from _turns(xs, ys)
        else:
            yield from _items(xs, ys)


def _items(xs: list[Piece], ys: list[Piece]) -> Iterator[Found]:
    """Compare tools, or the blocks of a system prompt: by place where there are as many, else by value."""
    known = {x.mark for x in xs}
    if len(xs) == len(ys) and not (len(xs) > 1 and known == {y.mark for y in ys}):
        for x, y in zip(xs, ys, strict=True):
            yield from _pieces(x, y)
        return
    one = (ys or xs)[0]
    kind = "order" if len(xs) == len(ys) else "items"
    yield Place(path=f"$.{one.section}", role=one.role, kind=kind, a=_names(xs), b=_names(ys))
    yield sum(y.chars for y in ys if y.mark in known)


def _turns(xs: list[Piece], ys: list[Piece]) -> Iterator[Found]:
    """Compare messages in their order, and find again those that moved because others went or came."""
    i = j = 0
    while i < len(xs) and j < len(ys):
        x, y = xs[i], ys[j]
        if x.mark == y.mark:
            yield y.chars
        elif (gone := _later(xs, i, y)) is not None:
            yield Place(path=y.path, role="", kind="dropped", a=_short(x.value), b=_short(y.value))
            i = gone
            continue
        elif (come := _later(ys, j, x)) is not None:
            yield Place(path=y.path, role="", kind="inserted", a=_short(x.value), b=_short(y.value))
            j = come
            continue
        else:
            yield from _pieces(x, y)
        i, j = i + 1, j + 1


def _later(pieces: list[Piece], at: int, wanted: Piece) -> int | None:
    if wanted.chars < _WORTH:
        return None  # a short turn is said again by chance
    ahead = range(at + 1, min(at + 1 + _MOST_MOVED, len(pieces)))
    return next((n for n in ahead if pieces[n].mark == wanted.mark), None)


def _pieces(x: Piece, y: Piece) -> Iterator[Found]:
    if x.mark == y.mark:
        yield y.chars
    else:
        yield from _values(x.value, y.value, y.path, y.role)


def _values(x: Any, y: Any, path: str, role: str) -> Iterator[Found]:
    if isinstance(x, str) and isinstance(y, str):
        yield from _texts(x, y, path, role)
    elif isinstance(x, dict) and isinstance(y, dict):
        for key in [*y, *(k for k in x if k not in y)]:
            where = f"{path}.{key}"
            if key not in x or key not in y:
                yield Place(path=where, role=role, kind="absent", a=_short(x.get(key)), b=_short(y.get(key)))
            elif x[key] == y[key]:
                yield len(_encode(y[key]))
            else:
                yield from _values(x[key], y[key], where, role)
    elif isinstance(x, list) and isinstance(y, list):
        for number, (one, other) in enumerate(zip(x, y, strict=False)):
            if one == other:
                yield len(_encode(other))
            else:
                yield from _values(one, other, f"{path}[{number}]", role)
        if len(x) != len(y):
            yield Place(path=path, role=role, kind="items", a=f"{len(x)} items", b=f"{len(y)} items")
    else:
        yield Place(path=path, role=role, kind="value", a=_short(x), b=_short(y))


def _texts(x: str, y: str, path: str, role: str) -> Iterator[Found]:
    i = j = 0
    for _ in range(_MOST_SPANS):
        same = common(x, i, y, j)
        yield _size(y[j : j + same])
        i, j = i + same, j + same
        if i == len(x) or j == len(y):
            if len(x) - i != len(y) - j:
                yield _span(x, i, len(x), y, j, len(y), path, role)
            return
        again = _again(x, i, y, j)
        if again is None:
            break
        yield _span(x, i, again[0], y, j, again[1], path, role)
        i, j = again
    end = common_end(x, i, y, j)
    yield _span(x, i, len(x) - end, y, j, len(y) - end, path, role)
    yield _size(y[len(y) - end :])


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _again(x: str, i: int, y: str, j: int) -> tuple[int, int] | None:
    """Return where both texts go on alike after a short span, if they do."""
    for start in range(i, min(i + _REACH, len(x) - _SAME) + 1):
        found = y.find(x[start : start + _SAME], j, j + _REACH + _SAME)
        if found >= 0:
            return start, found
    return None


def _span(x: str, i: int, i_end: int, y: str, j: int, j_end: int, path: str, role: str) -> Place:
    """Return a span widened to whole words, with what its kind is told from."""
    back = j - max(y.rfind(" ", max(0, j - _WORD), j), y.rfind("\n", max(0, j - _WORD), j)) - 1
    back = back if back <= min(i, j, _WORD) else 0
    i, j = i - back, j - back
    i_end, j_end = _word_end(x, i_end), _word_end(y, j_end)
    one, other = x[i:i_end], y[j:j_end]
    stretches = None
    if max(len(one), len(other)) <= _REACH + _WORD:
        before, behind = y[max(0, j - _AROUND) : j], y[j_end : j_end + _AROUND]
        stretches = before + one + behind, before + other + behind
    return Place(
        path=path,
        role=role,
        kind="span",
        start=j,
        end=j_end,
        a=_short(one),
        b=_short(other),
        stretches=stretches,
    )


def _word_end(text: str, at: int) -> int:
    most = min(len(text), at + _WORD)
    while at < most and not text[at].isspace():
        at += 1
    return at


def _of_kind(place: Place) -> Place:
    """Return a place with what ``diff`` calls the difference."""
    if place.stretches is None:
        return place
    one, other = ({"messages": [{"role": place.role, "content": text}]} for text in place.stretches)
    found = next(iter(differences(one, other)), None)
    kind = "span" if found is None or found.kind in ("another text", "wording") else found.kind
    return msgspec.structs.replace(place, kind=kind, stretches=None)


def common(x: str, i: int, y: str, j: int) -> int:
    """Return how many characters two texts share from a place of each on."""
    low, step = 0, 64
    most = min(len(x) - i, len(y) - j)
    while low < most and x[i + low : i + low + step] == y[j + low : j + low + step]:
        low += step
        step *= 2
    low, high = min(low, most), min(low + step, most)
    while low < high:
        middle = (low + high + 1) // 2
        if x[i + low : i + middle] == y[j + low : j + middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(x: str, i: int, y: str, j: int) -> int:
    """Return how many characters two texts share at their ends, behind a place of each."""
    low, high = 0, min(len(x) - i, len(y) - j)
    while low < high:
        middle = (low + high + 1) // 2
        if x[len(x) - middle :] == y[len(y) - middle :]:
            low = middle
        else:
            high = middle - 1
    return low


def _names(pieces: list[Piece]) -> str:
    said = []
    for piece in pieces:
        value = piece.value
        inner = value.get("function", value) if isinstance(value, dict) else value
        said.append(str(inner["name"]) if isinstance(inner, dict) and "name" in inner else _short(value))
    return _short(", ".join(said))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else _encode(value).decode()
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
