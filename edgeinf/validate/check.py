"""Check one file: find its kind, collect errors and warnings, and leave out what is silenced."""

from __future__ import annotations

import difflib
import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from edgeinf.core.config.diagnostic import Diagnostic
from edgeinf.core.config.load import Inspection, inspect, ordered
from edgeinf.core.config.rule import run
from edgeinf.core.config.source import Source, read_source
from edgeinf.core.errors import UsageError
from edgeinf.validate.ignores import select
from edgeinf.validate.report import FileReport, safe_lines
from edgeinf.validate.rules.registry import ALL, WARNINGS

__all__ = ["KINDS", "Options", "check", "codes", "full"]

KINDS = ("edgeinf", "litellm")
_LITELLM = ("model_list", "litellm_settings", "router_settings", "general_settings")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to check. ``env`` None asks for no variables; ``kind`` None is found from the file."""

    env: Mapping[str, str] | None = None
    kind: str | None = None
    only: Sequence[str] = ()
    ignored: Sequence[str] = ()
    today: date | None = None


def check(data: bytes | str, name: str, *, base: Path, options: Options) -> tuple[FileReport, Inspection | None]:
    """Return the findings about a file, and what is known of it if it is one of ours. Never raises on content."""
    with _no_collection():
        return _check(data, name, base=base, options=options)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the cycle collector out: a large file makes many values, no cycles, and a fifth of the time is its."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _check(data: bytes | str, name: str, *, base: Path, options: Options) -> tuple[FileReport, Inspection | None]:
    if (options.kind or "edgeinf") == "litellm" or (options.kind is None and _is_litellm(data)):
        from edgeinf.validate.foreign.litellm import check_litellm

        source = read_source(data, name)
        return _report(source, check_litellm(source, options.env), options, kind="litellm"), None
    seen = full(data, name, base=base, options=options)
    variables = sorted({one for touched in seen.touched.values() for one in touched.names})
    return _report(seen.source, seen.diagnostics, options, variables=tuple(variables)), seen


def full(data: bytes | str, name: str, *, base: Path, options: Options) -> Inspection:
    """Return the inspection with the warnings added."""
    seen = inspect(data, name, base=base, env=options.env, today=options.today)
    if seen.facts is None:
        return seen
    warnings = run(WARNINGS, seen.facts)
    wrong = {d.path for d in seen.errors}
    added = [d for d in warnings if d.path not in wrong]
    together = ordered([*seen.diagnostics, *added])
    return Inspection(
        config=seen.config,
        diagnostics=together,
        source=seen.source,
        facts=seen.facts,
        tree=seen.tree,
        touched=seen.touched,
        origins=seen.origins,
    )


def _report(
    source: Source,
    diagnostics: Sequence[Diagnostic],
    options: Options,
    *,
    kind: str = "edgeinf",
    variables: tuple[str, ...] = (),
) -> FileReport:
    raw = source.lines()
    left = tuple(select(diagnostics, raw, only=options.only, ignored=options.ignored))
    lines = safe_lines(source, {d.span.line for d in left if d.span is not None})
    return FileReport(name=source.name, diagnostics=left, lines=lines, variables=variables, kind=kind)


def _is_litellm(data: bytes | str) -> bool:
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    tops = {
        line.split(":", 1)[0].strip("\"' ") for line in text.splitlines() if line[:1].isalpha() or line[:1] in "\"'"
    }
    return any(key in tops for key in _LITELLM) and not tops & {"listen", "regions", "cache"}


def codes(words: Sequence[str]) -> list[str]:
    """Return codes as given, or beginnings of codes. Raise UsageError where there is none like it."""
    for word in words:
        if not any(code.startswith(word) for code in ALL):
            near = difflib.get_close_matches(word, ALL, n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}?" if near else "edgeinf validate --explain all lists them"
            raise UsageError(f"there is no code {word!r}", hint=hint)
    return list(words)
