"""Find the config, read it, lay flags and environment over it, and give its values or every reason why not."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Site, Span, dotted, value_at
from edgeinf.core.config.environ import overrides, place
from edgeinf.core.config.schema import Config
from edgeinf.core.config.unbuilt import UNBUILT
from edgeinf.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from edgeinf.core.config.interpolate import Touched
    from edgeinf.core.config.rule import Facts
    from edgeinf.core.config.source import Source

__all__ = ["NAMES", "Inspection", "find", "inspect", "load", "ordered"]

NAMES = ("edgeinf.yaml", "edgeinf.yml", ".edgeinf.yaml")
_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """All that is known about a config: its values if it has any, and every finding, by position."""

    config: Config | None
    diagnostics: tuple[Diagnostic, ...]
    source: Source
    facts: Facts | None = None
    tree: Mapping[str, Any] = field(default_factory=dict)
    touched: Mapping[KeyPath, Touched] = field(default_factory=dict)
    origins: Mapping[KeyPath, str] = field(default_factory=dict)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What makes ``serve`` refuse."""
        return tuple(d for d in self.diagnostics if d.severity == "error")


def load(
    path: str | Path | None = None,
    *,
    env: Mapping[str, str],
    flags: Mapping[str, Any] | None = None,
    cwd: Path | None = None,
    insecure: bool = False,
    today: date | None = None,
) -> Config:
    """Return the config that ``serve`` runs with: flag > ``EDGEINF_SECTION__KEY`` > file > default.

    ``flags`` are dotted paths with plain values as in the file; None means not given. Raise ConfigError with all
    diagnostics, or UsageError where the file cannot be read.
    """
    file = find(path, env, cwd or Path())
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    if file is None and not any(True for _ in overrides(env)):
        from edgeinf.core.config import direct

        ready = direct.build(given, base=(cwd or Path()).resolve(), insecure=insecure)
        if ready is not None:
            return ready
    data = b"" if file is None else _read(file)
    seen = inspect(
        data,
        str(file) if file is not None else "edgeinf.yaml",
        base=file.resolve().parent if file is not None else (cwd or Path()).resolve(),
        env=env,
        flags=given,
        insecure=insecure,
        today=today,
    )
    if seen.config is None or seen.errors:
        raise _refusal(seen, file)
    return seen.config


def find(path: str | Path | None, env: Mapping[str, str], cwd: Path) -> Path | None:
    """Return the file that holds: the one named, ``EDGEINF_CONFIG``, the directory's, the user's; None for none."""
    named = path or env.get("EDGEINF_CONFIG")
    if named:
        file = cwd / Path(named).expanduser()
        if file.is_dir():
            raise UsageError(f"{named} is a directory, not a config file", hint=f"name the file, such as {NAMES[0]}")
        if not file.exists():
            near = difflib.get_close_matches(file.name, _siblings(file), n=1, cutoff=0.6)
            hint = f"did you mean {file.with_name(near[0])}?" if near else "edgeinf init writes one"
            raise UsageError(f"there is no config file {named}", hint=hint)
        return file
    home = Path(env.get("XDG_CONFIG_HOME") or Path(env.get("HOME") or "~").expanduser() / ".config") / "edgeinf"
    for folder in (cwd, home):
        for name in NAMES:
            if os.path.isfile(folder / name):
                return folder / name
    return None


def _siblings(file: Path) -> list[str]:
    try:
        return sorted(os.listdir(file.parent))[:1000]
    except OSError:
        return []


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read the config: {error.strerror} ({file})") from None


def inspect(
    data: bytes | str,
    name: str,
    *,
    base: Path,
    env: Mapping[str, str] | None,
    flags: Mapping[str, Any] | None = None,
    insecure: bool = False,
    today: date | None = None,
) -> Inspection:
    """Check a config's text in full. ``env`` None asks for no variables. Never raises on any content."""
    from edgeinf.core.config.check import check
    from edgeinf.core.config.interpolate import interpolate
    from edgeinf.core.config.rule import Facts, Finding, locate, run
    from edgeinf.core.config.rules.registry import ERRORS
    from edgeinf.core.config.scalar import STAND_IN
    from edgeinf.core.config.source import read_source

    source = read_source(data, name)
    if source.broken:
        return Inspection(config=None, diagnostics=ordered(source.faults), source=source)
    made = interpolate(source, env)
    tree, origins = made.tree, dict[KeyPath, str]()
    misplaced = _lay_over(tree, env or {}, flags or {}, origins)
    checked = check(tree, base=base, touched=made.touched)
    unset = {path for path in made.touched if value_at(tree, path) == STAND_IN}
    facts = Facts(
        config=checked.config or Config(),
        tree=tree,
        sites=_visible(source.sites, origins),
        origins=origins,
        touched=made.touched,
        uncertain=frozenset(checked.removed | checked.meant | unset),
        assumed=frozenset(made.touched) if env is None else frozenset(),
        indices=checked.indices,
        base=base,
        today=today or date.today(),
        insecure=insecure,
    )
    diagnostics = [*source.faults, *made.faults, *misplaced, *_empties(source)]
    for fault in checked.faults:
        if fault.at_key or fault.path not in unset:
            finding = Finding(
                path=fault.path, message=fault.message, label=fault.label, help=fault.help, at_key=fault.at_key
            )
            diagnostics.append(locate(fault.code, "error", finding, facts))
    for path, words in _unbuilt(tree):
        message = f"{dotted(path)} is not built yet"
        diagnostics.append(locate("E109", "error", Finding(path=path, message=message, help=words, at_key=True), facts))
    if checked.config is not None:
        diagnostics.extend(run(ERRORS, facts))
    return Inspection(
        config=checked.config if not checked.removed else None,
        diagnostics=ordered(_without_shadows(diagnostics)),
        source=source,
        facts=facts if checked.config is not None else None,
        tree=tree,
        touched=made.touched,
        origins=origins,
    )


def _empties(source: Source) -> list[Diagnostic]:
    """Warn of what is written without a value: an optional section is off then, which nobody sees."""
    if not source.tree and not source.faults:
        message = "the file is empty, so every default holds"
        return [
            Diagnostic(code="W001", severity="warning", message=message, help="edgeinf init writes a commented one")
        ]
    return [
        Diagnostic(
            code="W005",
            severity="warning",
            message=f"{dotted(path)} is written without a value, which leaves it off",
            span=source.sites[path].key,
            path=path,
            help="write null if that is meant",
        )
        for path, raw in source.raws.items()
        if raw.plain and raw.text == "" and path in source.sites and _is_kept(path)
    ]


def _is_kept(path: KeyPath) -> bool:
    """Return whether the path is one of the tree: what a merge or a second key of one name held is not."""
    return not any(isinstance(part, str) and part.startswith(("\0", "<<")) for part in path)


def _lay_over(
    tree: dict[str, Any], env: Mapping[str, str], flags: Mapping[str, Any], origins: dict[KeyPath, str]
) -> list[Diagnostic]:
    """Set what the environment and the flags say; return those that fit nowhere."""
    faults: list[Diagnostic] = []
    given = [*overrides(env), *((f"the flag for {key}", tuple(key.split(".")), value) for key, value in flags.items())]
    for origin, path, value in given:
        if place(tree, path, value):
            origins[path] = origin
        else:
            message = f"{origin} does not fit: there is no {dotted(path[:-1])} to set it in"
            faults.append(Diagnostic(code="E204", severity="error", message=message, origin=origin))
    return faults


def _visible(sites: Mapping[KeyPath, Site], origins: Mapping[KeyPath, str]) -> Mapping[KeyPath, Site]:
    """Leave out the sites of values that something above the file has replaced."""
    if not origins:
        return sites
    return {path: site for path, site in sites.items() if not any(path[: len(o)] == o for o in origins)}


def _unbuilt(tree: Mapping[str, Any]) -> list[tuple[KeyPath, str]]:
    found: list[tuple[KeyPath, str]] = []
    for entry, words in UNBUILT.items():
        pattern, _, value = entry.partition("=")
        for path, at in _matching(tree, pattern.split("."), ()):
            written = str(at).lower() if isinstance(at, bool) else str(at)
            if not value or written == value or (isinstance(at, list) and value in at):
                found.append((path, words))
    return found


def _matching(at: Any, pattern: list[str], path: KeyPath) -> list[tuple[KeyPath, Any]]:
    if not pattern:
        return [(path, at)]
    items: list[tuple[str | int, Any]] = []
    if isinstance(at, dict):
        items = list(at.items())
    elif isinstance(at, list):
        items = list(enumerate(at))
    return [
        hit for key, item in items if pattern[0] in ("*", key) for hit in _matching(item, pattern[1:], (*path, key))
    ]


def _without_shadows(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """Drop a warning about the spelling of a value that an error is about."""
    wrong = {d.path for d in diagnostics if d.severity == "error" and d.path}
    return [d for d in diagnostics if d.severity == "error" or d.path not in wrong]


def ordered(diagnostics: list[Diagnostic] | tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """Return findings by position; what an alias repeats elsewhere is one fault, where it is written."""
    first: dict[tuple[str, Span], KeyPath] = {}
    kept = []
    for d in diagnostics:
        if d.span is None or first.setdefault((d.code, d.span), d.path) == d.path:
            kept.append(d)
    return tuple(sorted(kept, key=lambda d: d.order))


def _refusal(seen: Inspection, file: Path | None) -> ConfigError:
    lines = []
    for d in seen.errors[:_SHOWN]:
        where = f"{file}:{d.span.line}:{d.span.column}" if d.span else d.origin or str(file or "config")
        lines.append(f"{where}: {d.message} [{d.code}]" + (f"; {d.label}" if d.label else ""))
    if len(seen.errors) > _SHOWN:
        lines.append(f"… and {len(seen.errors) - _SHOWN} more")
    hint = f"edgeinf validate {file} shows each in its place" if file is not None else seen.errors[0].help
    return ConfigError("\n       ".join(lines), hint=hint, diagnostics=seen.diagnostics)
