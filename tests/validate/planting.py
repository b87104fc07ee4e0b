"""Faults to plant into a valid config: each kind finds its sites in a text and says what must be reported where."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from edgeinf.core.config import schema, shape
from edgeinf.core.config import types as t
from edgeinf.core.config.diagnostic import KeyPath, Span
from edgeinf.core.config.source import Source

__all__ = ["KINDS", "Plant"]


@dataclass(frozen=True, slots=True)
class Plant:
    """A text with one fault, and where its one finding must be."""

    text: str
    code: str
    line: int
    column: int


Kind = Callable[[Source], Iterator[Plant]]


def _replaced(source: Source, span: Span, new: str) -> str:
    lines = source.text.split("\n")
    line = lines[span.line - 1]
    lines[span.line - 1] = line[: span.column - 1] + new + line[span.end_column - 1 :]
    return "\n".join(lines)


def _at(tree: Any, path: KeyPath) -> Any:
    for part in path:
        tree = tree[part]
    return tree


def _annotation(source: Source, path: KeyPath) -> Any:
    annotation: Any = schema.Config
    tree: Any = source.tree
    for part in path:
        annotation = shape._inside(annotation, part, tree)
        if annotation is None:
            return None
        tree = tree[part]
    return annotation


def _has(annotation: Any, kind: Any) -> bool:
    if annotation == kind:
        return True
    if typing.get_origin(annotation) in (tuple, dict):
        return False
    return any(_has(arm, kind) for arm in typing.get_args(annotation))


def _scalars(source: Source) -> Iterator[tuple[KeyPath, Span, Any]]:
    for path, site in source.sites.items():
        value = _at(source.tree, path)
        if not isinstance(value, dict | list) and path and site.value.line == site.value.end_line:
            yield path, site.value, _annotation(source, path)


def _typed(annotation: Any, code: str, new: str) -> Kind:
    """Replace the values of one type."""

    def kind(source: Source) -> Iterator[Plant]:
        for path, span, found in _scalars(source):
            if _has(found, annotation) and (code != "E341" or path[-1] == "url"):
                yield Plant(_replaced(source, span, new), code, span.line, span.column)

    return kind


def _named(key: str, code: str, new: str) -> Kind:
    """Replace the values of one key."""

    def kind(source: Source) -> Iterator[Plant]:
        for path, span, _ in _scalars(source):
            if path[-1] == key:
                yield Plant(_replaced(source, span, new), code, span.line, span.column)

    return kind


def _container(kind_of: type, code: str, new: str) -> Kind:
    """Replace lists, or mappings with fixed keys, that stand on one line."""

    def kind(source: Source) -> Iterator[Plant]:
        for path, site in source.sites.items():
            span = site.value
            if not path or not isinstance(_at(source.tree, path), kind_of) or span.line != span.end_line:
                continue
            if kind_of is dict and shape.section_at(source.tree, path) is None:
                continue
            if path[-1] in ("location", "adapter"):
                continue  # these may be text
            if kind_of is dict and path[0] == "auth":
                continue  # without a key nobody may ask, which is one more fault
            yield Plant(_replaced(source, span, new), code, span.line, span.column)

    return kind


def _misspelt_key(source: Source) -> Iterator[Plant]:
    for path, site in source.sites.items():
        if path and isinstance(path[-1], str) and shape.section_at(source.tree, path[:-1]) is not None:
            key = path[-1]
            yield Plant(_replaced(source, site.key, key + key[-1]), "E104", site.key.line, site.key.column)


def _foreign_key(source: Source) -> Iterator[Plant]:
    for path, span, _ in _scalars(source):
        if isinstance(path[-1], str) and shape.section_at(source.tree, path[:-1]) is not None and _flow(source, span):
            new = source.text.split("\n")[span.line - 1][span.column - 1 : span.end_column - 1] + ", zzqx: 1"
            yield Plant(_replaced(source, span, new), "E104", span.line, span.end_column + 2)


def _twice(source: Source) -> Iterator[Plant]:
    for path, span, _ in _scalars(source):
        if isinstance(path[-1], str) and _flow(source, span):
            text = source.text.split("\n")[span.line - 1][span.column - 1 : span.end_column - 1]
            new = f"{text}, {path[-1]}: 1"
            yield Plant(_replaced(source, span, new), "E003", span.line, span.end_column + 2)


def _flow(source: Source, span: Span) -> bool:
    """Return whether a value stands in braces on one line."""
    line = source.text.split("\n")[span.line - 1]
    before, after = line[: span.column - 1], line[span.end_column - 1 :].lstrip()
    return before.count("{") - before.count("${") > before.count("}") and after[:1] in (",", "}")


def _prefixed(code: str, prefix: str) -> Kind:
    """Put something in front of any value."""

    def kind(source: Source) -> Iterator[Plant]:
        lines = source.text.split("\n")
        for _, span, _ in _scalars(source):
            text = lines[span.line - 1][span.column - 1 : span.end_column - 1]
            yield Plant(_replaced(source, span, prefix + text), code, span.line, span.column)

    return kind


def _any_value(code: str, new: str) -> Kind:
    """Replace any value."""

    def kind(source: Source) -> Iterator[Plant]:
        for path, span, annotation in _scalars(source):
            if annotation is not None and path[0] != "auth":
                yield Plant(_replaced(source, span, new), code, span.line, span.column)

    return kind


def _tab(source: Source) -> Iterator[Plant]:
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("  ") and ":" in line and not line.lstrip().startswith(("#", "-")):
            broken = [*lines[: number - 1], "\t" + line.lstrip(), *lines[number:]]
            yield Plant("\n".join(broken), "E002", number, 1)


def _control(source: Source) -> Iterator[Plant]:
    lines = source.text.split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            broken = [*lines[: number - 1], line + "\x07", *lines[number:]]
            yield Plant("\n".join(broken), "E001", number, len(line) + 1)


def _appended(section: str, code: str, text: str, line: int, column: int) -> Kind:
    """Add a section at the end where the config has none of that name; ``line`` counts within ``text``."""

    def kind(source: Source) -> Iterator[Plant]:
        if section not in source.tree:
            base = source.text.rstrip("\n")
            yield Plant(f"{base}\n{text}\n", code, base.count("\n") + 1 + line, column)

    return kind


def _in_region(code: str, extra: str, column_of: str, line: int = 0) -> Kind:
    """Add a region at the end of the regions, where no model names its regions."""

    def kind(source: Source) -> Iterator[Plant]:
        if "models" in source.tree or "auth" in source.tree or "routing" in source.tree or "regions" not in source.tree:
            return
        last = max(
            site.value.end_line for path, site in source.sites.items() if path[:1] == ("regions",) and len(path) > 2
        )
        lines = source.text.split("\n")
        while not (source.tree and lines[last - 1].strip()):
            last -= 1
        added = f"  - {{name: planted, url: 'https://planted.example.com/v1'{extra}}}"
        column = added.index(column_of) + 1
        yield Plant("\n".join([*lines[:last], added, *lines[last:]]), code, last + 1, column)

    return kind


def _second_document(source: Source) -> Iterator[Plant]:
    base = source.text.rstrip("\n")
    yield Plant(f"{base}\n---\nversion: 1\n", "E007", base.count("\n") + 2, 1)


_TWO = "models: [{name: planted, fallback: [%s]}, {name: planted2, fallback: [planted]}]"

KINDS: dict[str, Kind] = {
    "misspelt key": _misspelt_key,
    "unknown key": _foreign_key,
    "key written twice": _twice,
    "tag": _prefixed("E005", "!!python/name:os "),
    "unknown alias": _any_value("E006", "*nowhere"),
    "tab": _tab,
    "control character": _control,
    "second document": _second_document,
    "unset variable": _any_value("E201", '"${NO_SUCH_VARIABLE_HERE}"'),
    "variable without an end": _any_value("E203", '"${OPENAI_API_KEY"'),
    "variable without a name": _any_value("E203", '"${1}"'),
    "duration without unit": _typed(t.Duration, "E106", "7"),
    "unknown unit": _typed(t.Duration, "E106", "7 parsecs"),
    "duration as a list": _typed(t.Duration, "E101", "[7s]"),
    "size without unit": _typed(t.Size, "E106", "7"),
    "size in words": _typed(t.Size, "E106", "plenty"),
    "rate without period": _typed(t.Rate, "E106", '"60"'),
    "rate per fortnight": _typed(t.Rate, "E106", "60/fortnight"),
    "more than all": _typed(t.Percentage, "E106", "120%"),
    "port out of range": _typed(t.Port, "E103", "70000"),
    "port in quotes": _typed(t.Port, "E101", '"80"'),
    "port as a decimal": _typed(t.Port, "E101", "80.5"),
    "count of zero": _typed(t.Count, "E103", "0"),
    "count in words": _typed(t.Count, "E101", "many"),
    "no scheme": _typed(t.Url, "E107", "us.example.com/v1"),
    "wrong scheme": _typed(t.Url, "E107", "ftp://us.example.com/v1"),
    "query in a url": _typed(t.Url, "E107", "https://us.example.com/v1?a=b"),
    "not a Redis url": _typed(t.RedisUrl, "E107", '"http://127.0.0.1/0"'),
    "doubled path": _typed(t.Url, "E341", "https://us.example.com/v1/chat/completions"),
    "not a hash": _typed(t.Sha256, "E106", "abc"),
    "not a date": _typed(t.Date, "E106", '"31.12.2030"'),
    "broken pattern": _typed(t.Pattern, "E106", "'(a'"),
    "not a network": _typed(t.Cidr, "E106", "10.0.0.0/64"),
    "empty credential": _typed(t.SecretText, "E202", '""'),
    "credential as a number": _typed(t.SecretText, "E101", "5"),
    "misspelt choice of level": _named("level", "E102", "saef"),
    "misspelt strategy": _named("strategy", "E102", "latecny"),
    "misspelt scope": _named("scope", "E102", "taem"),
    "old boolean": _named("passthrough", "E101", "yes"),
    "boolean in quotes": _named("passthrough", "E101", '"true"'),
    "text instead of a mapping": _container(dict, "E101", "text"),
    "text instead of a list": _container(list, "E101", "text"),
    "number instead of a name": _named("name", "E101", "[5]"),
    "missing file": _named("content_file", "E351", "no/such/file.md"),
    "ttl of zero": _named("ttl", "W322", "0"),
    "unknown strategy": _appended("routing", "E102", "routing:\n  strategy: fastest", 2, 13),
    "ratio without %": _appended("routing", "E106", "routing: {failover: {retry_budget: 5}}", 1, 36),
    "fallback to itself": _appended("models", "E304", "models: [{name: planted, fallback: [planted]}]", 1, 37),
    "fallback in a circle": _appended("models", "E305", _TWO % "planted2", 1, 77),
    "unknown fallback": _appended("models", "E303", _TWO % "planted3", 1, 37),
    "unknown region": _appended("models", "E302", "models: [{name: planted, regions: [atlantis]}]", 1, 36),
    "limit of nothing": _appended("limits", "E331", "limits:\n  - name: planted\n    per: session", 2, 5),
    "limit that nothing passes": _appended("limits", "E332", "limits: [{name: planted, requests: 0/min}]", 1, 36),
    "limit for nobody": _appended("limits", "E333", "limits: [{name: p, match: {team: no}, requests: 1/s}]", 1, 34),
    "concurrency over rate": _appended("limits", "W332", "limits: [{name: p, requests: 1/s, concurrency: 2}]", 1, 48),
    "empty prompt rule": _appended("prompt", "E362", "prompt:\n  - when: {route: x}", 2, 5),
    "message of nothing": _appended("prompt", "E361", "prompt: [{prepend: [{role: system}]}]", 1, 21),
    "pattern that takes minutes": _appended("guard", "W381", "guard: {deny: [{pattern: '(a+)+$'}]}", 1, 26),
    "misspelt part to strip": _appended("answer", "E102", "answer: {strip: [reasonin]}", 1, 18),
    "key without a value": _appended("auth", "W005", "auth:", 1, 1),
    "network of everybody": _appended("guard", "W383", "guard: {clients: {deny_cidr: [0.0.0.0/0]}}", 1, 31),
    "two credentials": _in_region("E313", ", api_key: '${OPENAI_API_KEY}', passthrough: true", "passthrough"),
    "credential in the clear": _in_region("W301", ", api_key: 'not-a-real-key-0'", "'not-a-real"),
    "time-outs that cannot fit": _in_region("E321", ", timeouts: {connect: 9s, total: 5s}", "9s"),
    "weight that is not read": _in_region("W402", ", weight: 2", "weight"),
}
