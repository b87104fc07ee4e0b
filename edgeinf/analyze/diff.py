"""What tells two near-equal requests apart: which field, which span, and of what kind.

Works on the keyed bodies of one level, so what the level makes equal already never shows. A difference that a mask
would remove is called by the mask's name; a span is found by aligning the words of both texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import combinations, pairwise
from typing import Any

import msgspec

from edgeinf.core.normalize import request_ids, timestamps, uuids
from edgeinf.core.normalize.levels import LEVELS

__all__ = ["Difference", "differences"]

_MASKS = {"timestamp": timestamps.RULE.apply, "request-id": request_ids.RULE.apply, "uuid": uuids.RULE.apply}
_SENTENCES = re.compile(r"[^.!?\n]*[.!?\n]+\s*|[^.!?\n]+\Z")
_WORDS = re.compile(r"\s*\S+|\s+\Z")
_MANY_WORDS = 200
_CUT = 160
# A text of which more than this differs is another text, not the same one with a span in it.
_MOST_CHANGED = 0.4
_FEW_WORDS = 8
_CONTEXT = 120  # further than any mask looks back for a label

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_ID_LIKE = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{8,}\W?|[0-9a-f]{12,}\W?", re.IGNORECASE)
_NUMBER = re.compile(r"\W*[-+]?\d[\d.,:%]*\W*")


class Difference(msgspec.Struct, frozen=True):
    """One place: its JSON path, the role of the message it is in, what kind of difference, and both sides."""

    path: str
    role: str
    kind: str
    a: str
    b: str


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[Difference]:
    """Return every difference between two keyed bodies, in the order of the first."""
    return list(_objects(a, b, "$", ""))


def _objects(a: dict[str, Any], b: dict[str, Any], path: str, role: str) -> Iterator[Difference]:
    for key in [*a, *(k for k in b if k not in a)]:
        where = f"{path}.{key}" if re.fullmatch(r"\w+", key) else f"{path}[{_show(key)}]"
        if key not in a or key not in b:
            yield Difference(where, role, "absent", _show(a.get(key, "")), _show(b.get(key, "")))
        elif a[key] != b[key]:
            yield from _values(a[key], b[key], where, role, key)


def _values(a: Any, b: Any, path: str, role: str, key: str = "") -> Iterator[Difference]:
    if key == "messages" and isinstance(a, list) and isinstance(b, list):
        yield from _messages(a, b, path)
    elif isinstance(a, dict) and isinstance(b, dict):
        yield from _objects(a, b, path, role)
    elif isinstance(a, list) and isinstance(b, list):
        yield from _lists(a, b, path, role)
    elif isinstance(a, str) and isinstance(b, str):
        yield from _texts(a, b, path, role or ("system" if key in ("system", "instructions") else ""))
    else:
        yield Difference(path, role, "value", _show(a), _show(b))


def _messages(a: list[Any], b: list[Any], path: str) -> Iterator[Difference]:
    if len(a) != len(b):
        yield Difference(path, "", "turns", f"{len(a)} messages", f"{len(b)} messages")
        return
    last = len(a) - 1
    for number, (x, y) in enumerate(zip(a, b, strict=True)):
        if x == y:
            continue
        role = str(x.get("role", "")) if isinstance(x, dict) else ""
        where = f"{path}[{number}]" if number != last or number == 0 else f"{path}[-1]"
        yield from _values(x, y, where, role)


def _lists(a: list[Any], b: list[Any], path: str, role: str) -> Iterator[Difference]:
    if len(a) == len(b):
        if sorted(map(_show_whole, a)) == sorted(map(_show_whole, b)):
            yield Difference(path, role, "order", _names(a), _names(b))
            return
        for number, (x, y) in enumerate(zip(a, b, strict=True)):
            if x != y:
                yield from _values(x, y, f"{path}[{number}]", role)
        return
    yield Difference(path, role, "items", _names(a), _names(b))


def _names(items: list[Any]) -> str:
    """Return what a list holds, by name where its items have one: tools do."""
    said = []
    for item in items:
        inner = item.get("function", item) if isinstance(item, dict) else item
        said.append(str(inner["name"]) if isinstance(inner, dict) and "name" in inner else _show(item))
    return _cut(", ".join(said))


def _texts(a: str, b: str, path: str, role: str) -> Iterator[Difference]:
    """Name the fewest masks that make both texts equal, else the spans that differ once all masks are applied."""
    if _unlike(a, b):
        yield Difference(path, role, "another text", _cut(a), _cut(b))
        return
    whole = max(len(a), len(b))
    a, b = _around(a, b)
    masked = _Masked()
    if all(masked(text, (kind,)) == text for text in (a, b) for kind in _MASKS):
        yield from _spans(a, b, path, role, whole)
        return
    for many in range(1, len(_MASKS) + 1):
        for kinds in combinations(_MASKS, many):
            if masked(a, kinds) == masked(b, kinds):
                for kind in kinds:
                    x, y = _example(a, b)
                    yield Difference(path, role, kind, x, y)
                return
    x, y = masked(a, tuple(_MASKS)), masked(b, tuple(_MASKS))
    for kind in _MASKS:
        others = tuple(k for k in _MASKS if k != kind)
        left, right = masked(a, others), masked(b, others)
        if (left, right) != (x, y) and _distance(left, right) > _distance(x, y):
            yield Difference(path, role, kind, *_example(a, b))
    yield from _spans(x, y, path, role, whole)


class _Masked:
    """Applies masks one after the other, each once to a text: most change nothing, and the next sees the same again."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str] = {}

    def __call__(self, text: str, kinds: tuple[str, ...]) -> str:
        for kind in kinds:
            found = self._known.get((kind, text))
            if found is None:
                found = self._known[kind, text] = _MASKS[kind](text)
            text = found
        return text


def _unlike(a: str, b: str) -> bool:
    """Return whether two texts share so few pairs of neighbouring words that one is no variant of the other."""
    x, y = a.lower().split(), b.lower().split()
    if min(len(x), len(y)) <= _FEW_WORDS:
        return False
    pairs, others = set(pairwise(x)), set(pairwise(y))
    return len(pairs & others) < (1 - _MOST_CHANGED) * max(len(pairs), len(others))


def _around(a: str, b: str) -> tuple[str, str]:
    """Return the stretch that differs, with enough around it for a mask to know its label."""
    start, end = _ends(a, b)
    if start > _CONTEXT:
        start = a.rfind(" ", 0, start - _CONTEXT) + 1
        a, b = a[start:], b[start:]
    if end > _CONTEXT:
        cut = a.find(" ", len(a) - end + _CONTEXT)
        if cut >= 0:
            keep = len(a) - cut
            a, b = a[:cut], b[: len(b) - keep]
    return a, b


def _distance(a: str, b: str) -> int:
    left, right = _ends(a, b)
    return max(len(a), len(b)) - left - right


def _spans(a: str, b: str, path: str, role: str, whole: int) -> Iterator[Difference]:
    wording = _wording(a, b)
    if wording is not None:
        yield Difference(path, role, wording, *_example(a, b))
        return
    changed = 0
    found: dict[str, tuple[str, str]] = {}
    for one, other in _changed(a, b):
        changed += max(len(one), len(other))
        found.setdefault(_kind(one, other), (one, other))
    if changed > max(80, _MOST_CHANGED * whole):
        yield Difference(path, role, "another text", _cut(a), _cut(b))
        return
    for kind, (one, other) in found.items():
        yield Difference(path, role, kind, _cut(one), _cut(other))


def _changed(a: str, b: str) -> Iterator[tuple[str, str]]:
    """Yield the stretches of words that differ: sentences are aligned first, and words only where sentences differ."""
    for one, other in _aligned(_SENTENCES.findall(a), _SENTENCES.findall(b)):
        x, y = _WORDS.findall(one), _WORDS.findall(other)
        if len(x) + len(y) > _MANY_WORDS:
            yield one, other
        else:
            yield from _aligned(x, y)


def _aligned(x: list[str], y: list[str]) -> Iterator[tuple[str, str]]:
    for op, i, j, k, m in SequenceMatcher(None, x, y, autojunk=False).get_opcodes():
        if op != "equal":
            yield "".join(x[i:j]), "".join(y[k:m])


def _wording(a: str, b: str) -> str | None:
    """Return the kind where two texts differ only in what the level loose brings together."""
    loose = LEVELS["loose"].content("user", a) == LEVELS["loose"].content("user", b) if "loose" in LEVELS else False
    return "wording" if loose else None


def _kind(a: str, b: str) -> str:
    """Return what a differing span is, if both sides are of one kind."""
    x, y = a.strip(), b.strip()
    for kind, pattern in (("uuid", _UUID), ("number", _NUMBER), ("id", _ID_LIKE)):
        if pattern.fullmatch(x) and pattern.fullmatch(y):
            return kind
    if not x and not y:
        return "white space"
    return "span"


def _ends(a: str, b: str) -> tuple[int, int]:
    """Return how many characters two texts share at the start and, beyond those, at the end."""
    most = min(len(a), len(b))
    low, high = 0, most
    while low < high:  # bisect on the length of the common start
        middle = (low + high + 1) // 2
        if a[:middle] == b[:middle]:
            low = middle
        else:
            high = middle - 1
    start = low
    low, high = 0, most - start
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle :] == b[len(b) - middle :]:
            low = middle
        else:
            high = middle - 1
    return start, low


def _example(a: str, b: str) -> tuple[str, str]:
    """Return the first stretch that differs, widened to whole words with a little around it."""
    start, end = _ends(a, b)
    start = max(a.rfind(" ", 0, start), a.rfind("\n", 0, start)) + 1
    return _cut(_stretch(a, start, end)), _cut(_stretch(b, start, end))


def _stretch(text: str, start: int, end: int) -> str:
    stop = len(text) - end
    while stop < len(text) and not text[stop].isspace():
        stop += 1
    return text[start:stop]


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else text[: _CUT - 1] + "…"


def _show(value: Any) -> str:
    return _cut(value if isinstance(value, str) else _show_whole(value))


def _show_whole(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
