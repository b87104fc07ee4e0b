"""Mask ids of requests, traces and sessions, known by their prefix (``req-8f3a2b1c``) or label (``Request ID: 8f3a``).

An id has a digit in it, so that words (``session-cookie``) stay; an order, a ticket or a customer is no request.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.shape import shape_of

__all__ = ["MASK", "RULE"]

MASK = "\x1arequest-id\x1a"

_NAMES = r"(?:request|req|trace|span|session|sess|correlation|corr)"
_ID = r"(?=[a-z_.-]*\d)[a-z0-9][a-z0-9_.-]{3,}[a-z0-9]"
_LABELLED = re.compile(
    rf"(?<![a-z0-9])({_NAMES}(?:[ _-]?id\b[\"']?(?:\s*[:=#]\s*|\s+is\s+|\s+)|[\"']?\s*[:=#]\s*)[\"']?){_ID}",
    re.IGNORECASE,
)
_TRACEPARENT = re.compile(
    r"(?<![0-9a-z-])[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?![0-9a-z-])", re.IGNORECASE
)
_PREFIXED = re.compile(
    rf"(?<![a-z0-9/\\_.-]){_NAMES}[-_](?=[a-z_-]*\d)[a-z0-9_-]{{5,}}[a-z0-9](?![\w/\\])", re.IGNORECASE
)
_HINTS = ("req", "trace", "span", "sess", "corr")
_TRACED = re.compile(r"-[0-9a-f]{32}-[0-9a-f]{16}-", re.IGNORECASE)
# In the shape of ASCII text: from the first digit of what is long enough for an id to its end.
_LONG = re.compile(rb"0[0aA_.-]*+(?<=[0aA_.-]{5})")
# In any shape: a digit in a word, or a long number.
_CANDIDATE = re.compile(rb"0(?:[aA_.-]|000|(?<=[aA_.-]0))")
_ID_BYTES = b"aA_.-"
# A label reaches no further back than this but by white space, and no more ids than this are looked at one by one.
_REACH = 48
_GAP = re.compile(r"\s{8}")
_FEW = 48


def _apply(text: str) -> str:
    shape = shape_of(text)
    named = _may_be_named(text, shape)
    done = _mask_named(text) if named else text
    if "-" in done and _TRACED.search(done) and (named or _CANDIDATE.search(shape)):
        return _TRACEPARENT.sub(MASK, done)
    return done


def _may_be_named(text: str, shape: bytes) -> bool:
    """Return whether an id with a prefix or label is possible; most texts hold a few numbers, and no such name near."""
    if not text.isascii():
        return _CANDIDATE.search(shape) is not None
    for count, found in enumerate(_LONG.finditer(shape)):
        start = found.start()
        while start and shape[start - 1] in _ID_BYTES:
            start -= 1
        near = text[max(0, start - _REACH) : found.end()].lower()
        if count == _FEW or any(map(near.__contains__, _HINTS)) or _GAP.search(near):
            return True
    return False


def _mask_named(text: str) -> str:
    """Mask ids with a prefix or label, trying only where one of the names stands."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter whose small form is longer moves all positions behind it
        return _PREFIXED.sub(MASK, _LABELLED.sub(rf"\g<1>{MASK}", text))
    starts: list[int] = []
    for hint in _HINTS:
        at = lowered.find(hint)
        while at >= 0:
            starts.append(at)
            at = lowered.find(hint, at + 1)
    done = ""
    cursor = 0
    for start in sorted(starts):
        if start < cursor:
            continue
        labelled = _LABELLED.match(text, start)
        found = labelled or _PREFIXED.match(text, start)
        if found:
            done += text[cursor : labelled.end(1) if labelled else start] + MASK
            cursor = found.end()
    return done + text[cursor:]


RULE = Rule(name="request-ids", apply=_apply, changes_meaning=True)
