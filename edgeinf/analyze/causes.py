"""From a difference to a cause that a person can act on: what it is, whether it can be removed, and how."""

from __future__ import annotations

import re

import msgspec

from edgeinf.analyze.diff import Difference

__all__ = ["ANOTHER", "Cause", "advice", "cause_of", "same_question"]

# Differences after which it is another question, and no cache may answer it.
ANOTHER = frozenset({"another text", "turns", "items"})
_OWN_WORDS = frozenset({"span", "number", "id"})  # in what the user or the model said
_ID_FIELD = re.compile(r"(?i)(id|uuid|tag|trace|request|session|nonce|stamp|time|date)")
_VOLATILE = {"timestamp": "a clock or date", "request-id": "a request id", "uuid": "a UUID"}


class Cause(msgspec.Struct, frozen=True, order=True):
    """What keeps questions apart, and where."""

    what: str
    where: str
    kind: str


def cause_of(d: Difference) -> Cause | None:
    """Return the cause behind a difference, or None where the question itself is another."""
    spoken = d.role in ("user", "assistant", "tool", "function")
    if d.kind in ANOTHER or (spoken and d.kind in _OWN_WORDS):
        return None
    if d.kind in _VOLATILE:
        place = _place(d)
        return Cause(f"{_VOLATILE[d.kind]} in {place}", d.path, d.kind)
    if d.kind == "order":
        return Cause(f"the order of {_field(d.path)}", d.path, d.kind)
    if d.kind == "wording":
        return Cause(f"wording of {_place(d)}: case, spaces, closing marks", d.path, d.kind)
    if d.kind in ("id", "number", "span", "white space"):
        named = {"id": "an id", "number": "a number", "span": "words that change", "white space": "white space"}
        return Cause(f"{named[d.kind]} in {_place(d)}", d.path, d.kind)
    if d.kind == "absent":
        return Cause(f"{_field(d.path)} sent by some and not by others", d.path, d.kind)
    return Cause(f"the value of {_field(d.path)}", d.path, d.kind)


def same_question(found: list[Difference]) -> frozenset[Cause] | None:
    """Return the causes behind all differences of a pair, or None where one of them makes it another question."""
    causes = [cause_of(d) for d in found]
    if any(c is None for c in causes):
        return None
    return frozenset(c for c in causes if c is not None)


def _place(d: Difference) -> str:
    if d.role in ("system", "developer"):
        return "the system prompt"
    if d.role == "user":
        return "the user's turn"
    if ".tools" in d.path or ".functions" in d.path:
        return "a tool's definition"
    return f"the field {_field(d.path)}"


def _field(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path.removeprefix("$.")) or path


def advice(causes: frozenset[Cause]) -> str:
    """Return what to do about a set of causes, each in one clause."""
    return "; ".join(dict.fromkeys(_advice(c) for c in sorted(causes)))


def _advice(cause: Cause) -> str:
    system = "system prompt" in cause.what or "tool's definition" in cause.what
    if cause.kind == "timestamp":
        if system:
            return "leave the time out, round it, or use the level masked (mask: [timestamps])"
        return "leave the time out of what is sent, or mask it (mask: [user:timestamps])"
    if cause.kind == "request-id":
        where = "request-ids" if system else "user:request-ids"
        return f"send the id as a header or in metadata, or use the level masked (mask: [{where}])"
    if cause.kind == "uuid":
        if not system and "the field" in cause.what:
            return "send it in metadata or a header: fields of the body count as part of the question"
        where = "uuids" if system else "user:uuids"
        return f"send it in metadata instead, or use the level masked (mask: [{where}])"
    if cause.kind == "order":
        return f"sort {_field(cause.where)} before sending: the order also breaks the provider's prefix cache"
    if cause.kind == "wording":
        return "use the level loose, if its risk below is acceptable"
    if system:
        return "if the answer does not depend on it, leave it out; else it is another question and rightly a miss"
    if cause.where.endswith(".seed"):
        return "send one fixed seed, or none: each seed is another answer"
    if _ID_FIELD.search(cause.where.rpartition(".")[2]):
        return "send it in metadata or a header: fields of the body count as part of the question"
    return "send one value where the answer does not depend on it"
