"""Read a script from YAML, JSON or a dict, and refuse what it does not know.

::

    name: us-east              # also the region that rules may ask for
    ttft: 200ms                # from the request to the first token; headers and role chunk come at once
    tpot: 10ms                 # between tokens
    headers_delay: 0s          # from the request to the headers
    jitter: 10%
    seed: 1
    fixed_ids: true
    answer: {tokens: 16, reasoning: 4}        # the fields of Shape
    headers: {set-cookie: "a=b"}
    fault: cut;after=3                        # for every call; or a list, or {kind: cut, after: 3}
    rules:
      - when: {path: /v1/chat/completions, model: "gpt-*", nth: 1}
        fault: "429;retry_after=2s"
      - when: {rate: 5%, stream: true, headers: {x-team: a*}}
        fault: [reset;tokens=2]
        answer: {tokens: 3}
        ttft: 1s
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from edgeinf.core.errors import UsageError
from edgeinf.core.units import parse_duration, parse_percentage
from edgeinf.mock.faults.table import checked
from edgeinf.mock.script import Fault, Match, Rule, Script, Shape, Timing, ToolCall

__all__ = ["load", "read_document", "read_fault", "read_rule"]

_TIMING = {"ttft": "ttft_s", "tpot": "tpot_s", "headers_delay": "headers_s", "jitter": "jitter"}
_PLAIN = ("name", "seed", "fixed_ids", "strict_models", "api_key", "packets")
_TOP = {*_PLAIN, "models", "answer", "headers", "fault", "rules", *_TIMING}
_RULE = {"when", "fault", "answer", "headers", *_TIMING}
_SHAPE = {f.name for f in dataclasses.fields(Shape)}
_CHOICES = {"usage": ("asked", "none", "last-choice", "every"), "server": ("vllm", "sglang", "tgi", "llamacpp")}
_WHEN = {
    *("region", "method", "path", "model", "headers", "contains", "stream"),
    *("after", "until", "nth", "every", "rate"),
}


def read_document(path: Path) -> dict[str, Any]:
    """Read a script file as a dict. Raise UsageError if it cannot be read."""
    import yaml

    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the script ({path}): {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"the script is not YAML ({path}): {' '.join(str(error).split())}") from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise UsageError(f"the script must be a mapping, not {type(document).__name__} ({path})")
    return document


def load(source: Script | Mapping[str, Any] | None) -> Script:
    """Return a script from a dict as in the module's docstring. Raise UsageError on what is unknown."""
    if source is None:
        return Script()
    if isinstance(source, Script):
        return source
    _known(source, _TOP, "the script")
    given = dict(source)
    values: dict[str, Any] = {k: given[k] for k in _PLAIN if k in given}
    if "models" in given:
        values["models"] = tuple(given["models"])
    if values.get("packets", "joined") not in ("joined", "event"):
        raise UsageError(f"packets is {values['packets']!r} in the script", hint="one of: joined, event")
    rules = [read_rule(rule) for rule in given.get("rules", ())]
    if "fault" in given:
        rules.append(Rule(faults=_faults(given["fault"])))
    return Script(
        **values,
        answer=dataclasses.replace(Shape(), **_answer(given.get("answer", {}))),
        timing=dataclasses.replace(Timing(), **_timing(given)),
        headers={str(k): str(v) for k, v in given.get("headers", {}).items()},
        rules=tuple(rules),
    )


def read_rule(source: Rule | Mapping[str, Any]) -> Rule:
    """Return one rule from a dict."""
    if isinstance(source, Rule):
        return source
    _known(source, _RULE, "a rule")
    return Rule(
        when=_match(source.get("when", {})),
        faults=_faults(source.get("fault", ())),
        answer=_answer(source.get("answer", {})),
        timing=_timing(source),
        headers={str(k): str(v) for k, v in source.get("headers", {}).items()},
    )


def read_fault(source: str | Fault | Mapping[str, Any]) -> Fault:
    """Return a fault from ``kind;name=value`` or ``{kind: …, name: value}``, with its arguments checked."""
    if isinstance(source, Fault):
        return checked(source.kind, source.arguments)
    if isinstance(source, str | int):
        kind, *pairs = str(source).split(";")
        arguments = {name: value for name, _, value in (pair.partition("=") for pair in pairs if pair)}
        return checked(kind.strip(), {k.strip(): v.strip() for k, v in arguments.items()})
    if not isinstance(source, Mapping) or "kind" not in source:
        raise UsageError(f"a fault is written as kind;name=value or {{kind: …}}, not {source!r}")
    return checked(str(source["kind"]), {str(k): v for k, v in source.items() if k != "kind"})


def _faults(source: Any) -> tuple[Fault, ...]:
    return tuple(read_fault(one) for one in (source if isinstance(source, list | tuple) else (source,)))


def _match(source: Match | Mapping[str, Any]) -> Match:
    if isinstance(source, Match):
        return source
    _known(source, _WHEN, "when")
    values = dict(source)
    if "after" in values:
        values["after_s"] = _seconds(values.pop("after"))
    if "until" in values:
        values["until_s"] = _seconds(values.pop("until"))
    if "rate" in values:
        values["rate"] = _share(values["rate"])
    if "nth" in values:
        values["nth"] = _ranges(values["nth"])
    if "headers" in values:
        values["headers"] = {str(k).lower(): str(v) for k, v in values["headers"].items()}
    return Match(**values)


def _ranges(source: Any) -> tuple[tuple[int, int | None], ...]:
    """Read ``2``, ``"2-5"``, ``"3-"`` or a list of these."""
    if isinstance(source, list | tuple):
        return tuple(one for item in source for one in _ranges(item))
    low, dash, high = str(source).partition("-")
    if not low.isdigit() or (high and not high.isdigit()):
        raise UsageError(f"nth is {source!r}", hint='write 2, "2-5", "3-" or a list of these')
    return ((int(low), int(high) if high else None if dash else int(low)),)


def _answer(source: Mapping[str, Any]) -> dict[str, Any]:
    _known(source, _SHAPE, "answer")
    values = dict(source)
    calls = values.get("tool_calls")
    if calls is not None:
        calls = [{}] * calls if isinstance(calls, int) else calls
        values["tool_calls"] = [dataclasses.asdict(c) if isinstance(c, ToolCall) else c for c in calls]
    try:
        shape = msgspec.convert(values, Shape)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at ")
        raise UsageError(f"{what[:1].lower()}{what[1:]} (answer{where.strip('`$')})") from error
    for name, allowed in _CHOICES.items():
        if getattr(shape, name) not in allowed:
            raise UsageError(f"{name} is {getattr(shape, name)!r} in answer", hint=f"one of: {', '.join(allowed)}")
    return {name: getattr(shape, name) for name in values}


def _timing(source: Mapping[str, Any]) -> dict[str, float]:
    read = {"jitter": _share}
    return {to: read.get(name, _seconds)(source[name]) for name, to in _TIMING.items() if name in source}


def _seconds(value: Any) -> float:
    if isinstance(value, int | float):
        return float(value)
    try:
        return parse_duration(str(value))
    except ValueError as error:
        raise UsageError(str(error)) from error


def _share(value: Any) -> float:
    """Read ``5%`` or ``0.05``."""
    try:
        share = parse_percentage(value) if isinstance(value, str) and "%" in value else float(value)
    except ValueError as error:
        raise UsageError(f"{value!r} is not a rate", hint="write 5% or 0.05") from error
    if not 0 <= share <= 1:
        raise UsageError(f"{value!r} is not a rate from 0 to 1", hint="write 5% or 0.05")
    return share


def _known(source: Any, names: set[str], where: str) -> None:
    if not isinstance(source, Mapping):
        raise UsageError(f"{where} must be a mapping, not {type(source).__name__}")
    for name in source:
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]!r}?" if near else f"allowed: {', '.join(sorted(names))}"
            raise UsageError(f"unknown name {name!r} in {where}", hint=hint)
