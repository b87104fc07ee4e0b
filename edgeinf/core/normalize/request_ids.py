"""Mask ids of requests, traces and sessions, known by their prefix (``req-8f3a2b1c``) or label (``Request ID: 8f3a``).

An id has a digit in it, so that words (``session-cookie``) stay; an order, a ticket or a customer is no request.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize.base import Rule

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
_CANDIDATE = re.compile(r"[0-9](?:[a-zA-Z_.-]|[0-9]{3}|(?<=[a-zA-Z_.-][0-9]))")  # a digit in a word, or a long number
# The same on bytes, several times faster: 0 for a digit, a for what else an id is made of.
_KINDS = bytes(
    ord("0") if chr(b).isdigit() else ord("a") if chr(b).isalnum() or b in b"_.-" else 32 for b in range(256)
)


def _apply(text: str) -> str:
    if not _may_hold(text):
        return text
    text = _mask_named(text)
    return _TRACEPARENT.sub(MASK, text) if text.count("-") > 2 else text


def _may_hold(text: str) -> bool:
    if not text.isascii():
        return _CANDIDATE.search(text) is not None
    kinds = text.encode().translate(_KINDS)
    return b"a0" in kinds or b"0a" in kinds or b"0000" in kinds


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
