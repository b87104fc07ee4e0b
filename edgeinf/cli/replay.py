"""``edgeinf replay``: a log against a running server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeinf.cli.output import Progress, print_json
from edgeinf.core.errors import UsageError

if TYPE_CHECKING:
    from edgeinf.analyze.replayable import Again
    from edgeinf.probe.replay import Outcome, ReplayRequest

__all__ = ["app", "as_requests"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def replay(
    logs: Annotated[list[str], typer.Argument(metavar="LOG...", help="files, globs, or - for standard input")],
    to: Annotated[str, typer.Option("--to", metavar="URL", help="the server, as http://127.0.0.1:8787")],
    concurrency: Annotated[int, typer.Option(min=1, help="requests in flight at once; 1 keeps their order")] = 1,
    speed: Annotated[str, typer.Option(help="the log's own pace times this (1x, 10x), or asap")] = "asap",
    format_: Annotated[str, typer.Option("--format", help="the log's format; auto looks at its first lines")] = "auto",
    scope: Annotated[str | None, typer.Option(help="who gets a credential of its own: key, team or shared")] = None,
    json_: Annotated[bool, typer.Option("--json", help="one JSON document on stdout")] = False,
) -> int:
    """Send a log at a running server, in order, and say what its cache answered.

    edgeinf replay log.jsonl --to http://127.0.0.1:8787 --json

    edgeinf replay 'logs/*.jsonl.gz' --to http://127.0.0.1:8787 --concurrency 8
    """
    import asyncio

    from edgeinf.analyze.options import Options
    from edgeinf.analyze.replayable import again
    from edgeinf.probe.replay import document
    from edgeinf.probe.replay import replay as send

    pace = _speed(speed)
    with ExitStack() as stack:
        options = Options(files=tuple(logs), format=format_, scope=scope)
        total, requests = again(options, stack, lambda what, done, of: None)
        bar = Progress("replaying", total)
        try:
            outcome = asyncio.run(
                send(as_requests(requests), to, concurrency=concurrency, speed=pace, progress=bar.update)
            )
        finally:
            bar.close()
    if json_:
        print_json(document(outcome))
    else:
        _print(outcome)
    return 0


def _speed(text: str) -> float | None:
    if text == "asap":
        return None
    try:
        factor = float(text.removesuffix("x"))
    except ValueError:
        factor = 0.0
    if not factor > 0:
        raise UsageError(f"--speed: {text!r} is no speed", hint="asap, or a factor such as 1x or 10x")
    return factor


def as_requests(records: Iterator[Again]) -> Iterator[ReplayRequest]:
    from edgeinf.probe.replay import ReplayRequest

    for record in records:
        labels = (("x-edgeinf-session", record.session), ("x-edgeinf-route", record.route))
        yield ReplayRequest(
            path=record.path,
            body=record.body,
            at=record.at,
            scope=record.scope,
            headers=tuple((name, value) for name, value in labels if value is not None and _plain(value)),
        )


def _plain(value: str) -> bool:
    """Return whether a label can travel in a header."""
    return value.isascii() and value.isprintable()


def _print(outcome: Outcome) -> None:
    from edgeinf.probe.replay import document

    found: dict[str, Any] = document(outcome)
    rate = "–" if found["hit_rate"] is None else f"{100 * found['hit_rate']:.1f} %"
    lines = [f"{found['requests']:,} requests, {found['hits']:,} hits ({rate}) in {found['elapsed_s']:.1f} s"]
    for name in ("all", "hit"):
        figures = found["latency"][name]
        if figures["n"]:
            lines.append(f"{name:>4}: median {figures['median_ms']:.1f} ms, p95 {figures['p95_ms']:.1f} ms")
    if found["errors"]:
        lines.append("errors: " + ", ".join(f"{count} {kind}" for kind, count in found["errors"].items()))
    sys.stdout.write("\n".join(lines) + "\n")
