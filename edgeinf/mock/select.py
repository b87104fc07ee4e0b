"""Decide for one request which rules of the script hold, and merge them."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from edgeinf.mock.load import read_rule
from edgeinf.mock.script import Fault, Match, Rule, Script, Shape, Timing
from edgeinf.mock.values import Ask

__all__ = ["Choice", "Selector"]


@dataclasses.dataclass(slots=True, kw_only=True)
class Choice:
    """What one request gets."""

    shape: Shape
    timing: Timing
    faults: tuple[Fault, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


class Selector:
    """Holds the counters and the random generator of one script."""

    def __init__(self, script: Script, clock: Callable[[], float]) -> None:
        self.script = script
        self.rng = random.Random(script.seed)
        self._clock = clock
        self._started = clock()
        self._seen = [0] * len(script.rules)
        self._headers = tuple(script.headers.items())
        self._default = Choice(shape=script.answer, timing=script.timing, headers=self._headers)

    def choose(self, ask: Ask) -> Choice:
        """Merge every rule that matches, then what the request itself asks for. Raise UsageError on a bad wish."""
        script = self.script
        wished = ask.header(b"x-mock-fault")
        body = ask.json.get("mock") if type(ask.json) is dict else None
        if not script.rules and wished is None and body is None:
            return self._default
        choice = Choice(shape=script.answer, timing=script.timing, headers=self._headers)
        for index, rule in enumerate(script.rules):
            if self._holds(rule.when, index, ask):
                _merge(choice, rule)
        if wished is not None:
            _merge(choice, read_rule({"fault": wished.split(",")}))
        if body is not None:
            _merge(choice, read_rule(body))
        return choice

    def _holds(self, when: Match, index: int, ask: Ask) -> bool:
        if not _fits(when, ask, self.script.name):
            return False
        elapsed = self._clock() - self._started
        if elapsed < when.after_s or (when.until_s is not None and elapsed >= when.until_s):
            return False
        self._seen[index] += 1
        seen = self._seen[index]
        if when.nth and not any(low <= seen and (high is None or seen <= high) for low, high in when.nth):
            return False
        if when.every is not None and seen % when.every:
            return False
        return when.rate is None or self.rng.random() < when.rate


def _fits(when: Match, ask: Ask, region: str) -> bool:
    return (
        (when.region is None or fnmatchcase(region, when.region))
        and (when.method is None or ask.method == when.method)
        and (when.path is None or fnmatchcase(ask.path, when.path))
        and (when.model is None or fnmatchcase(ask.model, when.model))
        and (when.stream is None or ask.stream == when.stream)
        and (when.contains is None or when.contains.encode() in ask.body)
        and all(_header_fits(ask, name, pattern) for name, pattern in when.headers.items())
    )


def _header_fits(ask: Ask, name: str, pattern: str) -> bool:
    value = ask.header(name.lower().encode("latin-1"))
    return value is not None and fnmatchcase(value, pattern)


def _merge(choice: Choice, rule: Rule) -> None:
    answer: Mapping[str, Any] = rule.answer
    if answer:
        choice.shape = dataclasses.replace(choice.shape, **answer)
    if rule.timing:
        choice.timing = dataclasses.replace(choice.timing, **rule.timing)
    if rule.faults:
        choice.faults += rule.faults
    if rule.headers:
        choice.headers += tuple(rule.headers.items())
