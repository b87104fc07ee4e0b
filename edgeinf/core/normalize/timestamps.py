"""Mask dates, times and epochs, which programs put into prompts on every call.

Forms: ISO 8601, RFC 2822 and ctime, numeric dates with slashes or dots, dates with a month's name, clock times with
minutes, and numbers that a word before them calls a time (``ts=1718000000``). A bare number is no time: masking
numbers makes one question of two orders. Nothing inside a URL or path is touched.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize.base import Rule

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
_NAMED = re.compile(
    rf"(?<![\w/\\])(?:{_WEEKDAY}\s+)?(?:"
    rf"{_MONTH}\s+{_DAY}(?:,|\s)\s*(?:{_CLOCK}\s+)?{_YEAR}"
    rf"|{_DAY}(?:\s+of)?[\s-]+{_MONTH},?[\s-]+{_YEAR}"
    rf"|{_MONTH},?\s+{_YEAR}"
    rf")(?:{_JOIN}{_CLOCK})?(?![\w/\\])",
    re.IGNORECASE,
)
_WORDED_EPOCH = re.compile(
    r"(?<![a-z])((?:time|timestamp|stamp|ts|epoch|unix|now|date|clock|[a-z]+_at|at)"
    r"(?:[ _]?(?:s|ms|ns|sec|seconds|utc))?"
    r"[\"')]?\s*(?:is\s+|[:=]\s*|\s)[\"'\[(]?)"
    r"(?:1[0-9]|2[01])\d{8}(?:\d{3}|\d{6}|\d{9})?(?:\.\d+)?(?![\w/\\])",
    re.IGNORECASE,
)
_YEARS = re.compile(r"(?:19|20)\d\d")
_DIGIT = re.compile(r"\d")
_LONG_NUMBER = re.compile(r"[12]\d{9}")


def _apply(text: str) -> str:
    if not _DIGIT.search(text):
        return text
    if _YEARS.search(text):
        text = _NAMED.sub(MASK, text)
    text = _NUMERIC.sub(MASK, text)
    if _LONG_NUMBER.search(text):
        text = _WORDED_EPOCH.sub(rf"\g<1>{MASK}", text)
    return text


RULE = Rule(name="timestamps", apply=_apply, changes_meaning=True)
