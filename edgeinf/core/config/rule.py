"""The contract of a rule: what it asks of a config, and the words that explain it.

Rules that make ``serve`` refuse a config (severity error) live in ``core/config/rules``; those that only ``validate``
speaks of live there. Both get :class:`Facts` and yield :class:`Finding` s; positions are added by the runner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Related, Severity, Site
from edgeinf.core.config.interpolate import Touched
from edgeinf.core.config.schema import Config

__all__ = ["Facts", "Finding", "Rule", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something a rule found at ``path``; ``needs`` are further values it rests on."""

    path: KeyPath
    message: str
    label: str | None = None
    help: str | None = None
    related: tuple[tuple[str, KeyPath], ...] = ()
    needs: tuple[KeyPath, ...] = ()
    at_key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule, with the page that ``--explain`` prints. A page without ``check`` belongs to the loader."""

    code: str
    severity: Severity
    title: str
    why: str
    example: str
    instead: str
    check: Callable[[Facts], Iterable[Finding]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a rule may look at."""

    config: Config
    tree: Mapping[str, Any] = field(default_factory=dict)
    sites: Mapping[KeyPath, Site] = field(default_factory=dict)
    origins: Mapping[KeyPath, str] = field(default_factory=dict)
    touched: Mapping[KeyPath, Touched] = field(default_factory=dict)
    uncertain: Set[KeyPath] = frozenset()
    """Paths whose value is not known: faulty, or a variable that was not asked for."""
    assumed: Set[KeyPath] = frozenset()
    """Paths that have a default's value, since no variable was asked for: elsewhere they may have another."""
    indices: Mapping[KeyPath, list[int]] = field(default_factory=dict)
    base: Path = Path()
    today: date = date.max
    insecure: bool = False
    _above: Set[KeyPath] = field(init=False, repr=False, compare=False)
    """Paths that have an uncertain one below them."""
    _known: dict[Any, Any] = field(init=False, repr=False, compare=False, default_factory=dict)
    """What several rules ask for, worked out once."""

    def __post_init__(self) -> None:
        above = frozenset(path[:length] for path in self.uncertain for length in range(len(path)))
        object.__setattr__(self, "_above", above)

    def items(self, *path: str) -> Iterator[tuple[KeyPath, Any]]:
        """Yield (path in the file, value) for each item of a list of the config."""
        value: Any = self.config
        for part in path:
            value = getattr(value, part, None)
            if value is None:
                return
        yield from self.below((), value, *path)

    def below(self, parent: KeyPath, value: Iterable[Any], *path: str | int) -> Iterator[tuple[KeyPath, Any]]:
        """Yield (path in the file, item) for the list ``value`` that stands at ``path`` below ``parent``."""
        whole = (*parent, *path)
        stay = self.indices.get(whole)
        for index, item in enumerate(value):
            yield (*whole, stay[index] if stay is not None else index), item

    def given(self, path: KeyPath) -> bool:
        """Return whether the file or an override sets ``path``."""
        at: Any = self.tree
        for part in path:
            try:
                at = at[part]
            except (KeyError, IndexError, TypeError):
                return False
        return True

    def certain(self, path: KeyPath) -> bool:
        """Return whether the value at ``path`` and all below it are known."""
        return path not in self._above and not self.within_uncertain(path)

    def within_uncertain(self, path: KeyPath) -> bool:
        """Return whether ``path`` or one above it is uncertain."""
        return bool(self.uncertain) and any(path[:length] in self.uncertain for length in range(len(path) + 1))

    def names(self, *path: str, key: str = "name") -> list[tuple[KeyPath, str]] | None:
        """Return (path of the item, name) for a list as written, None where a name cannot be known."""
        if (path, key) not in self._known:
            self._known[path, key] = self._names(path, key)
        found: list[tuple[KeyPath, str]] | None = self._known[path, key]
        return found

    def texts(self) -> list[tuple[KeyPath, str]]:
        """Return (path, text) for every text of the file, in its order."""
        if "texts" not in self._known:
            self._known["texts"] = list(_texts(self.tree))
        found: list[tuple[KeyPath, str]] = self._known["texts"]
        return found

    def _names(self, path: tuple[str, ...], key: str) -> list[tuple[KeyPath, str]] | None:
        at: Any = self.tree
        for part in path:
            at = at.get(part) if isinstance(at, dict) else None
        if any(path[:length] in self.uncertain for length in range(1, len(path) + 1)):
            return None
        if at is None:
            return [(p, getattr(item, key)) for p, item in self.items(*path)]
        if not isinstance(at, list):
            return None
        found: list[tuple[KeyPath, str]] = []
        for index, item in enumerate(at):
            name = item.get(key) if isinstance(item, dict) else None
            if not isinstance(name, str) or (*path, index, key) in self.uncertain:
                return None
            found.append(((*path, index), name))
        return found


def _texts(tree: Any) -> Iterator[tuple[KeyPath, str]]:
    waiting: list[tuple[KeyPath, Any]] = [((), tree)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*path, index), value[index]) for index in range(len(value) - 1, -1, -1)]


def run(rules: Iterable[Rule], facts: Facts) -> Iterator[Diagnostic]:
    """Yield what ``rules`` find, with positions; what rests on a value that is not known is left out."""
    for rule in rules:
        for finding in rule.check(facts) if rule.check is not None else ():
            if not all(facts.certain(path) for path in finding.needs):
                continue
            if facts.within_uncertain(finding.path):
                continue
            yield locate(rule.code, rule.severity, finding, facts)


def locate(code: str, severity: Severity, finding: Finding, facts: Facts) -> Diagnostic:
    """Give a finding its place: the value's, else the nearest key above it."""
    path = finding.path
    while path and path not in facts.sites:
        path = path[:-1]
    site = facts.sites.get(path) if path else None
    exact = path == finding.path and not finding.at_key
    related = tuple(
        Related(message=message, span=facts.sites[where].value if where in facts.sites else None)
        for message, where in finding.related
    )
    origin = next((facts.origins[p] for p in _upwards(finding.path) if p in facts.origins), None)
    if origin is None and finding.path and path != finding.path:  # a mapping that only an override made
        origin = next((o for p, o in facts.origins.items() if p[: len(finding.path)] == finding.path), None)
    return Diagnostic(
        code=code,
        severity=severity,
        message=_unfilled(finding.message, facts),
        span=None if origin or site is None else site.value if exact else site.key,
        path=finding.path,
        label=finding.label and _unfilled(finding.label, facts),
        help=finding.help and _unfilled(finding.help, facts),
        related=related,
        origin=origin,
    )


def _unfilled(text: str, facts: Facts) -> str:
    """Show variables as they are written, in whatever field they stand."""
    for touched in facts.touched.values():
        text = touched.hide(text)
    return text


def _upwards(path: KeyPath) -> Iterator[KeyPath]:
    for length in range(len(path), 0, -1):
        yield path[:length]
