"""``edgeinf analyze``: what a log says a cache would bring."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeinf.cli.failures import Terminated
from edgeinf.cli.output import Progress, check_writable, colour_wanted, note, print_json
from edgeinf.core.errors import FindingError, UsageError

if TYPE_CHECKING:
    from edgeinf.analyze.options import Options
    from edgeinf.analyze.run import Analysis

__all__ = ["app"]

_STDOUT = Path("-")


class _App(typer.Typer):
    """Take ``--markdown`` alone: the argument parser knows no option whose value may be left out."""

    def __call__(self, *rest: Any, args: Sequence[str] | None = None, **options: Any) -> Any:
        given = list(args or [])
        end = given.index("--") if "--" in given else len(given)
        head = [f"{a}={_STDOUT}" if a == "--markdown" else a for a in given[:end]]
        return super().__call__(*rest, args=head + given[end:], **options)


app = _App(add_completion=False, rich_markup_mode=None)


@app.command()
def analyze(
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help="files, globs, or - for standard input")],
    config: Annotated[
        Path | None, typer.Option(help="the proxy's config, so that the estimate is of that proxy")
    ] = None,
    format_: Annotated[str, typer.Option("--format", help="the log's format; auto looks at its first lines")] = "auto",
    mapping: Annotated[
        str | None, typer.Option("--map", metavar="F=NAME,...", help="which field of the log is which: at=msec,...")
    ] = None,
    level: Annotated[
        str, typer.Option(help="the level that leads: exact, safe, loose, masked; all for the proxy's")
    ] = "all",
    ttl: Annotated[
        str | None, typer.Option(metavar="TTL,...", help="times to live for the curves, as 1h,24h,inf; one: for all")
    ] = None,
    capacity: Annotated[
        str | None, typer.Option(metavar="N,...", help="entries kept, for the curves; one: for all")
    ] = None,
    scope: Annotated[str | None, typer.Option(help="who may share an answer: key, user, team or shared")] = None,
    fail_under: Annotated[
        float | None, typer.Option(min=0, max=100, metavar="PCT", help="exit 1 below this hit rate")
    ] = None,
    gateway: Annotated[list[str], typer.Option(metavar="NAME", help="another tool's key on the same log, or all")] = (),  # type: ignore[assignment]
    probe: Annotated[Path | None, typer.Option(metavar="FILE", help="what edgeinf probe --json wrote")] = None,
    requests_per_month: Annotated[float | None, typer.Option(min=0, metavar="N", help="for the monthly cost")] = None,
    prefix_rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="own rules of provider prefix caches")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="follow a growing log")] = False,
    json_: Annotated[bool, typer.Option("--json", help="one JSON document on stdout")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="write a self-contained page")] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="[=FILE]", help="Markdown on stdout, or in FILE (--markdown=FILE)")
    ] = None,
    redact: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write a log without prompts, to be shared")
    ] = None,
) -> int:
    """Replay a log and say what a cache would bring, and what keeps equal questions apart.

    edgeinf analyze events.jsonl

    edgeinf analyze 'logs/*.jsonl.gz' --json
    """
    from edgeinf.cli.analyze_options import made

    options = made(
        logs,
        config=config,
        format_=format_,
        mapping=mapping,
        level=level,
        ttl=ttl,
        capacity=capacity,
        scope=scope,
        gateways=gateway,
        probe=probe,
        requests_per_month=requests_per_month,
        prefix_rules=prefix_rules,
    )
    if markdown == _STDOUT and json_:
        raise UsageError("only one of --json, --markdown can hold", hint="--markdown=FILE writes a file")
    if watch:
        others = {"--html": html, "--markdown": markdown, "--redact": redact, "--fail-under": fail_under}
        if given := [name for name, value in others.items() if value is not None]:
            raise UsageError(f"--watch goes without {', '.join(given)}")
        return _watch(options, json_)
    check_writable(html, None if markdown == _STDOUT else markdown, redact)
    found = _run(options, redact)
    _write(found, json_, html, markdown)
    return _gate(found, fail_under)


class _Bars:
    """One progress bar after the other, as the work goes on."""

    def __init__(self) -> None:
        self._what = ""
        self._bar: Progress | None = None

    def __call__(self, what: str, done: int, total: int) -> None:
        if what != self._what or self._bar is None:
            self.close()
            self._what, self._bar = what, Progress(what, total)
        self._bar.update(done)

    def close(self) -> None:
        """Remove the bar that is shown."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def _run(options: Options, redact: Path | None) -> Analysis:
    import signal

    from edgeinf.analyze.scan import prepare

    prepare(options.files)
    from edgeinf.analyze.run import analyze as run

    def end(number: int, frame: object) -> None:
        raise Terminated

    bars = _Bars()
    before = signal.signal(signal.SIGTERM, end)  # so that temporary files go and workers end
    try:
        if redact is None:
            return run(options, progress=bars)
        from edgeinf.analyze.redacted import redacted

        def share(found: Analysis) -> None:
            with redact.open("wb") as file:
                file.writelines(redacted(found.log, found.options.scope))

        try:
            found = run(options, progress=bars, then=share)
        except OSError as error:
            raise UsageError(f"cannot write {redact}: {(error.strerror or str(error)).lower()}") from None
        note(f"wrote {redact}")
        return found
    finally:
        signal.signal(signal.SIGTERM, before)
        bars.close()


def _watch(options: Options, json_: bool) -> int:
    from edgeinf.analyze.watch import watch

    for found in watch(options):
        if json_:
            import msgspec

            from edgeinf.analyze.document import document

            sys.stdout.buffer.write(msgspec.json.encode({"schema_version": 1, **document(found)}) + b"\n")
            sys.stdout.buffer.flush()
            continue
        from edgeinf.analyze.report import summary
        from edgeinf.core.report.terminal import write_terminal

        if sys.stdout.isatty():
            sys.stdout.write("\x1b[H\x1b[2J")
        write_terminal(summary(found), sys.stdout, colour=colour_wanted(sys.stdout))
        sys.stdout.flush()
    return 0


def _write(found: Analysis, json_: bool, html: Path | None, markdown: Path | None) -> None:
    from edgeinf.analyze.document import document
    from edgeinf.analyze.report import tree

    if html is not None:
        from edgeinf.core.report.html import to_html

        _save(html, to_html(tree(found)))
    if markdown is not None:
        from edgeinf.core.report.markdown import to_markdown

        text = to_markdown(tree(found))
        if markdown == _STDOUT:
            sys.stdout.write(text)
        else:
            _save(markdown, text)
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
    if run is None:
        raise UsageError("--fail-under: the log has no hit rate at this level")
    rate = 100 * run.worth.request_rate
    if rate < fail_under:
        raise FindingError(f"the hit rate is {rate:.1f} %, under the {fail_under:g} % that --fail-under asks")
    return 0
