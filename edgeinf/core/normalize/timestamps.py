"""Mask dates, times and epochs, which programs put into prompts on every call.

Forms: ISO 8601, RFC 2822 and ctime, numeric dates with slashes or dots, dates with a month's name, clock times with
minutes, and numbers that a word before them calls a time (``ts=1718000000``). A bare number is no time: masking
numbers makes one question of two orders. Nothing inside a URL or path is touched.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.shape import Span, replaced, run_around, shape_of

__all__ = ["MASK", "RULE"]

MASK = "\x1atimestamp\x1a"

_ZONE = r"(?:[ ]?(?:z|utc|gmt|[a-z]{1,3}[sd]t)\b(?:[+-]\d{1,2}(?::?\d\d)?)?|[ ]?[+-]\d\d(?::?\d\d)?(?!\d))"
_CLOCK = rf"(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d{{1,9}})?)?(?:\s?[ap]\.?m\b\.?)?{_ZONE}?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.?"
_WEEKDAY = r"(?:mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur|sun)(?:day)?\.?,?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:19|20)\d\d"
_JOIN = r"(?:[t_ ]|,?\s+(?:at\s+)?|\s*[|@]\s*)"

_NUMERIC = re.compile(
    rf"(?<![\w/\\.:-])(?:"
    rf"{_YEAR}([-/.])\d\d?\1\d\d?(?:{_JOIN}{_CLOCK})?"
    rf"|\d\d?([-/.])\d\d?\2(?:19|20)\d\d(?:{_JOIN}{_CLOCK})?"
    rf"|[01]?\d/[0-3]?\d/\d\d(?:{_JOIN}{_CLOCK})?"
    rf"|(?:19|20)\d{{6}}t\d{{4,6}}(?:[.,]\d+)?{_ZONE}?"
    rf"|{_CLOCK}"
    rf")(?![\w/\\]|[.:-]\d)",
    re.IGNORECASE,
)
_NAMED_UP_TO_YEAR = re.compile(
    rf"(?<![\w/\\])(?:{_WEEKDAY}\s+)?(?:"
    rf"{_MONTH}\s+{_DAY}(?:,|\s)\s*(?:{_CLOCK}\s+)?"
    rf"|{_DAY}(?:\s+of)?[\s-]+{_MONTH},?[\s-]+"
    rf"|{_MONTH},?\s+"
    rf"){_YEAR}\Z"  # on lower-cased text
)
_AFTER_YEAR = re.compile(rf"(?:{_JOIN}{_CLOCK})?(?![\w/\\])", re.IGNORECASE)
_EPOCH_LABEL = re.compile(
    r"(?<![a-z])(?:time|timestamp|stamp|ts|epoch|unix|now|date|clock|[a-z]+_at|at)"
    r"(?:[ _]?(?:s|ms|ns|sec|seconds|utc))?"
    r"[\"')]?\s*(?:is\s+|[:=]\s*|\s)[\"'\[(]?\Z",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"(?:1[0-9]|2[01])\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?![\w/\\])")
# In the shape: a digit before what may part the digits of a date or time, or in a number as long as a year.
_CANDIDATE = re.compile(rb"0(?=[-/.:aA][0?]|000)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# How far back to look from a year for its month, from the month for its day, from a number for its label.
_MONTH_REACH = 56
_DAY_REACH = 24
_LABEL_REACH = 40


def _apply(text: str) -> str:
    runs = _runs(text)
    if not runs:
        return text
    dated = [span for span in (_named(text, run) for run in runs if run[1] - run[0] == 4) if span]
    dated.append((len(text), len(text)))
    masked: list[Span] = []
    cursor = 0
    following = 0  # the next date with a month's name, which goes before what is numeric inside it
    for run in runs:
        while dated[following][0] < cursor:
            following += 1
        ahead = dated[following]
        span = ahead if ahead[0] <= run[0] else _numeric(text, run)
        if span and span[0] >= cursor and (span is ahead or span[1] <= ahead[0]):
            masked.append(span)
            cursor = span[1]
    return replaced(text, masked, MASK) if masked else text


def _runs(text: str) -> list[Span]:
    """Return the runs of digits that a date, time or epoch may begin or end with."""
    shape = shape_of(text)
    runs: list[Span] = []
    cursor = 0
    for found in _CANDIDATE.finditer(shape):
        if found.start() >= cursor:
            run = run_around(shape, found.start())
            runs.append(run)
            cursor = run[1]
    return runs


def _named(text: str, run: Span) -> Span | None:
    """Return the date with a month's name that ends in this number of four digits, with the time after it."""
    start, end = run
    if text[start : start + 2] not in ("19", "20"):
        return None
    window = max(0, start - _MONTH_REACH)
    near = text[window:end].lower()
    month = max(map(near.rfind, _MONTHS))
    if month < 0 or len(near) != end - window:
        return None
    before = _NAMED_UP_TO_YEAR.search(near, max(0, month - _DAY_REACH))
    after = _AFTER_YEAR.match(text, end) if before else None
    return (window + before.start(), after.end()) if before and after else None


def _numeric(text: str, run: Span) -> Span | None:
    """Return the date or time of digits that begins with this run of digits, or the epoch that it is."""
    start, end = run
    if text[end : end + 1] in ("-", "/", ".", ":", "t", "T"):
        found = _NUMERIC.match(text, start)
        if found:
            return found.span()
    if end - start < 10:
        return None
    epoch = _EPOCH.match(text, start)
    labelled = epoch and _EPOCH_LABEL.search(text, max(0, start - _LABEL_REACH), start)
    return epoch.span() if epoch and labelled else None


RULE = Rule(name="timestamps", apply=_apply, changes_meaning=True)
