"""What ``edgeinf probe`` writes, and the exit code that goes with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from edgeinf.cli import output
from edgeinf.core.errors import RemoteError, UsageError

if TYPE_CHECKING:
    from edgeinf.core.report.tree import Section
    from edgeinf.probe.diff import Saved
    from edgeinf.probe.outcome import Outcome

__all__ = ["Wanted", "print_definitions", "write", "write_diff"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be written where."""

    form: str
    html: Path | None
    save: Path | None
    baseline: Saved | None
    best: bool
    emit: bool
    explain: bool
    strict: bool


def write(outcome: Outcome, wanted: Wanted) -> int:
    """Write everything asked for and return the exit code."""
    from edgeinf.core.report.html import to_html
    from edgeinf.probe.gate import verdict_of
    from edgeinf.probe.outcome import document
    from edgeinf.probe.report import report

    if wanted.save is not None:
        _save(wanted.save, {"schema_version": 1, **document(outcome, samples=True)})
    worse = _against(outcome, wanted.baseline) if wanted.baseline else False
    if wanted.html is not None:
        _to_file(wanted.html, to_html(report(outcome, full=True, definitions=True)))
    reached = any(m.ok for m in outcome.measured.values())
    if wanted.best and outcome.recommendation.region is not None:
        sys.stdout.write(outcome.recommendation.region + "\n")
    elif wanted.emit and reached:
        from edgeinf.probe.emit import emit_config

        sys.stdout.write(emit_config(outcome.targets, outcome.ranking, outcome.recommendation, outcome.at))
    elif not wanted.best and not wanted.emit:
        _FORMS[wanted.form](outcome, wanted.explain)
    if not reached:
        kinds = sorted({kind for m in outcome.measured.values() for kind in m.errors})
        raise RemoteError(f"no target answered ({', '.join(kinds)})", hint=_way_out(outcome))
    return 1 if worse else verdict_of(outcome.gates, strict=wanted.strict)


def _way_out(outcome: Outcome) -> str:
    """Return what to try when nothing answered."""
    set_ = next((n for n in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy") if os.environ.get(n)), None)
    if set_ and not any(outcome.proxy.values()):
        return f"{set_} is set and was not used: --proxy env uses it"
    if outcome.plan.mode == "ping":
        return "the table of errors says how far each got"
    return "edgeinf probe --ping shows how far the network gets"


def _print_json(outcome: Outcome, explain: bool) -> None:
    from edgeinf.probe.outcome import document

    output.print_json(document(outcome))


def _print_jsonl(outcome: Outcome, explain: bool) -> None:
    from edgeinf.probe.export import to_jsonl

    for line in to_jsonl(outcome):
        sys.stdout.write(line + "\n")


def _print_csv(outcome: Outcome, explain: bool) -> None:
    from edgeinf.probe.export import to_csv

    sys.stdout.write(to_csv(outcome))


def _print_prometheus(outcome: Outcome, explain: bool) -> None:
    from edgeinf.probe.export import to_prometheus

    sys.stdout.write(to_prometheus(outcome))


def _print_text(outcome: Outcome, explain: bool) -> None:
    from edgeinf.probe.report import report

    _print_section(report(outcome, definitions=explain))


_FORMS: dict[str, Callable[[Outcome, bool], None]] = {
    "json": _print_json,
    "jsonl": _print_jsonl,
    "csv": _print_csv,
    "prometheus": _print_prometheus,
    "text": _print_text,
}


def _print_section(section: Section) -> None:
    from edgeinf.core.report.terminal import write_terminal

    write_terminal(section, sys.stdout, colour=output.colour_wanted(sys.stdout))


def print_definitions(form: str) -> int:
    from edgeinf.probe.figures import DEFINITIONS
    from edgeinf.probe.report import explain

    if form == "json":
        output.print_json({"definitions": DEFINITIONS})
    else:
        _print_section(explain())
    return 0


def write_diff(files: list[str], form: str, html: Path | None = None) -> int:
    from edgeinf.probe.diff import check_shared, compare, diff_report, is_worse, read_saved, to_document

    if len(files) != 2:
        raise UsageError("diff compares two saved runs", hint="edgeinf probe diff before.json after.json")
    if form not in ("text", "json") or html is not None:
        raise UsageError("diff writes text, or a document with --json")
    before, after = (read_saved(Path(f)) for f in files)
    check_shared(before.samples, list(dict.fromkeys(a.target for a in after.samples)), files[0])
    changes = compare(before.samples, after.samples)
    if form == "json":
        output.print_json(to_document(changes, before.at, after.at))
    else:
        _print_section(diff_report(changes, before.at, after.at))
    return int(any(is_worse(c) for c in changes))


def _against(outcome: Outcome, before: Saved) -> bool:
    """Compare with a saved run, on stderr, and return whether something got worse."""
    from edgeinf.core.report.terminal import write_terminal
    from edgeinf.probe.diff import compare, diff_report, is_worse

    changes = compare(before.samples, [a for made in outcome.attempts.values() for a in made])
    section = diff_report(changes, before.at, outcome.at)
    write_terminal(section, sys.stderr, colour=output.colour_wanted(sys.stderr))
    return any(is_worse(c) for c in changes)


def _save(file: Path, document: dict[str, object]) -> None:
    import msgspec

    _to_file(file, msgspec.json.encode(document).decode())


def _to_file(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from None
    output.note(f"written: {file}")
