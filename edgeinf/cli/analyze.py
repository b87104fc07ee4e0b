"""``edgeinf analyze``: what a log says a cache would bring."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeinf.cli.output import Progress, colour_wanted, note, print_json
from edgeinf.core.errors import FindingError, UsageError

if TYPE_CHECKING:
    from edgeinf.analyze.options import Options
    from edgeinf.analyze.run import Analysis

__all__ = ["app"]

app = typer.Typer(add_completion=False)


@app.command()
def analyze(
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help="files, globs, or - for standard input")],
    format_: Annotated[str, typer.Option("--format", help="the log's format; auto looks at its first lines")] = "auto",
    mapping: Annotated[
        str | None, typer.Option("--map", metavar="F=NAME,...", help="which field of the log is which: at=msec,...")
    ] = None,
    level: Annotated[str, typer.Option(help="exact, safe, loose, masked, or all (the proxy's default leads)")] = "all",
    ttl: Annotated[
        str | None, typer.Option(metavar="TTL,...", help="times to live for the curves, as 1h,24h,inf")
    ] = None,
    capacity: Annotated[str | None, typer.Option(metavar="N,...", help="numbers of entries for the curves")] = None,
    scope: Annotated[str | None, typer.Option(help="who may share an answer: key, user, team or shared")] = None,
    fail_under: Annotated[float | None, typer.Option(metavar="PCT", help="exit 1 below this hit rate")] = None,
    json_: Annotated[bool, typer.Option("--json", help="one JSON document on stdout")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="write a self-contained page")] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="write Markdown")] = None,
) -> int:
    """Replay a log and say what a cache would bring, and what keeps equal questions apart.

    edgeinf analyze events.jsonl

    edgeinf analyze 'logs/*.jsonl.gz' --json
    """
    from edgeinf.analyze.run import analyze as run

    options = _options(logs, format_, mapping, level, ttl, capacity, scope)
    bars: dict[str, Progress] = {}

    def progress(what: str, done: int, total: int) -> None:
        if what not in bars:
            for bar in bars.values():
                bar.close()
            bars[what] = Progress(what, total)
        bars[what].update(done)

    try:
        found = run(options, progress=progress)
    finally:
        for bar in bars.values():
            bar.close()
    _write(found, json_, html, markdown)
    return _gate(found, fail_under)


def _options(
    logs: list[str],
    format_: str,
    mapping: str | None,
    level: str,
    ttl: str | None,
    capacity: str | None,
    scope: str | None,
) -> Options:
    from edgeinf.analyze.options import SCOPES, Options
    from edgeinf.core.normalize.levels import LEVELS
    from edgeinf.core.units import parse_duration

    changes: dict[str, Any] = {}
    if level != "all":
        _one_of(level, (*LEVELS, "all"), "--level")
        changes["level"] = level
    if scope is not None:
        _one_of(scope, SCOPES, "--scope")
    if ttl is not None:
        try:
            ttls = tuple(parse_duration(part) for part in ttl.split(","))
        except ValueError as error:
            raise UsageError(f"--ttl: {error}") from None
        changes["ttls_s"] = ttls
    if capacity is not None:
        try:
            changes["capacities"] = tuple(int(part) for part in capacity.split(","))
        except ValueError:
            raise UsageError(f"--capacity: {capacity!r} is not a list of whole numbers", hint="as 100,1000") from None
        if min(changes["capacities"]) < 1:
            raise UsageError("--capacity: a cache needs at least one entry")
    return Options(files=tuple(logs), format=format_, mapping=_mapping(mapping), scope=scope, **changes)


def _mapping(text: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in (text or "").split(","):
        if not pair:
            continue
        field, _, name = pair.partition("=")
        if not name:
            raise UsageError(f"--map: {pair!r} is not FIELD=NAME", hint="as at=msec,latency_ms=request_time")
        found[field.strip()] = name.strip()
    return found


def _one_of(value: str, allowed: tuple[str, ...], option: str) -> None:
    if value not in allowed:
        import difflib

        near = difflib.get_close_matches(value, allowed, n=1)
        raise UsageError(
            f"{option}: there is no {value!r}",
            hint=f"did you mean {near[0]!r}?" if near else f"one of: {', '.join(allowed)}",
        )


def _write(found: Analysis, json_: bool, html: Path | None, markdown: Path | None) -> None:
    from edgeinf.analyze.document import document
    from edgeinf.analyze.report import tree

    if html is not None:
        from edgeinf.core.report.html import to_html

        _save(html, to_html(tree(found)))
    if markdown is not None:
        from edgeinf.core.report.markdown import to_markdown

        _save(markdown, to_markdown(tree(found)))
    if json_:
        print_json(document(found))
    elif html is None and markdown is None:
        from edgeinf.core.report.terminal import write_terminal

        write_terminal(tree(found), sys.stdout, colour=colour_wanted(sys.stdout))


def _save(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
    note(f"wrote {path}")


def _gate(found: Analysis, fail_under: float | None) -> int:
    if fail_under is None:
        return 0
    run = found.default
    rate = 100 * run.worth.request_rate if run is not None else 0.0
    if rate < fail_under:
        raise FindingError(f"the hit rate is {rate:.1f} %, under the {fail_under:g} % that --fail-under asks")
    return 0
