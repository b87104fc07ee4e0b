"""``edgeinf top``: the dashboard in a terminal."""

from __future__ import annotations

import os
import sys
import time
import urllib.error
import urllib.request
from typing import Annotated, Any

import typer

from edgeinf.cli import output

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_EVERY_S = 2.0


@app.command()
def top(
    url: Annotated[str, typer.Option(help="where the server is")] = "http://127.0.0.1:8787",
    key_env: Annotated[str, typer.Option(help="the variable that holds the admin key, for a server elsewhere")] = (
        "EDGEINF_ADMIN_KEY"
    ),
    once: Annotated[bool, typer.Option("--once", help="show it once and end")] = False,
    json: Annotated[bool, typer.Option("--json", help="one JSON document, once")] = False,
) -> None:
    """Show what a running server does: hits, savings, regions, tiers, the latest requests and why.

    edgeinf top

    edgeinf top --once --url http://127.0.0.1:8787
    """
    from edgeinf.core.report.live import LiveReport
    from edgeinf.core.report.terminal import write_terminal
    from edgeinf.serve.observe.top import line_of, report_of

    def look() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        key = os.environ.get(key_env)
        return _get(url, "stats", key), _get(url, "events?limit=50", key)["events"]

    if json:
        stats, events = look()
        output.print_json({**stats, "latest": events})
        return
    if once:
        write_terminal(report_of(*look()), sys.stdout, colour=output.colour_wanted(sys.stdout))
        return
    with LiveReport(sys.stdout, colour=output.colour_wanted(sys.stdout)) as live:
        while True:
            stats, events = look()
            live.show(lambda s=stats, e=events: report_of(s, e), lambda s=stats: line_of(s))  # type: ignore[misc]
            time.sleep(_EVERY_S)


def _get(url: str, path: str, key: str | None) -> Any:
    """Return what the server says. Raise RemoteError where it does not."""
    import msgspec

    from edgeinf.core.errors import RemoteError

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    request = urllib.request.Request(f"{url.rstrip('/')}/_edgeinf/api/{path}", headers=headers)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # a proxy would make it a call from afar
    try:
        with opener.open(request, timeout=10) as answer:
            return msgspec.json.decode(answer.read())
    except urllib.error.HTTPError as error:
        hint = "put the admin key into EDGEINF_ADMIN_KEY, or name its variable with --key-env"
        error.close()
        raise RemoteError(
            f"the server answers {error.code} ({url})", hint=hint if error.code in (401, 403) else None
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise RemoteError(f"no server answers: {reason} ({url})", hint="edgeinf serve starts one") from None
