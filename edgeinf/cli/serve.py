"""``edgeinf serve``: the proxy."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeinf.cli import output

if TYPE_CHECKING:
    from edgeinf.core.config.schema import Config

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def serve(
    config: Annotated[Path | None, typer.Option(help="config file; else ./edgeinf.yaml, else the defaults")] = None,
    upstream: Annotated[str | None, typer.Option(help="the one origin to front, with the client's credential")] = None,
    host: Annotated[str | None, typer.Option(help="address to listen on [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="port to listen on, 0 for any [default: 8787]")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="processes that share one port")] = 1,
    demo: Annotated[bool, typer.Option("--demo", help="start mock regions inside: no key, no network")] = False,
    insecure: Annotated[bool, typer.Option("--insecure", help="allow binding beyond loopback without auth")] = False,
    json: Annotated[bool, typer.Option("--json", help="print one line of JSON when ready")] = False,
) -> int:
    """Put the layer in front of an inference endpoint.

    edgeinf serve --demo

    edgeinf serve --upstream http://127.0.0.1:11434 --port 8787
    """
    from edgeinf.core.config.load import find, load
    from edgeinf.core.errors import UsageError

    if demo and (upstream or config):
        raise UsageError("--demo brings its own regions", hint="leave out --upstream and --config")
    flags: dict[str, Any] = {"listen.host": host, "listen.port": port}
    if upstream:
        serves = ["openai", "anthropic", "rerank"]
        flags["regions"] = [{"name": "upstream", "url": upstream, "passthrough": True, "serves": serves}]

    def read() -> Config:
        return load(config, env=os.environ, flags=flags, insecure=insecure)

    with ExitStack() as stack:
        loaded = read()
        if demo:
            from edgeinf.cli.demo import demo_config

            return _run(demo_config(loaded, stack), workers, as_json=json)
        file = find(config, os.environ, Path())
        return _run(loaded, workers, as_json=json, load=read, watch=[] if file is None else [file.absolute()])


def _run(
    config: Config,
    workers: int,
    *,
    as_json: bool,
    load: Callable[[], Config] | None = None,
    watch: Sequence[Path] = (),
) -> int:
    from edgeinf.serve.run import bind, serve_forever
    from edgeinf.serve.systemd import passed_socket

    sock = passed_socket() or bind(config.listen.host, config.listen.port)
    scheme = "https" if config.listen.tls is not None else "http"
    shown = f"[{config.listen.host}]" if ":" in config.listen.host else config.listen.host
    url = f"{scheme}://{shown}:{sock.getsockname()[1]}"

    def ready() -> None:
        if as_json:
            import msgspec

            sys.stdout.write(msgspec.json.encode({"event": "ready", "url": url}).decode() + "\n")
        else:
            sys.stdout.write(f"export OPENAI_BASE_URL={url}/v1\nexport ANTHROPIC_BASE_URL={url}\n")
            output.note(f"ready: {_summary(config)}; Ctrl-C ends it")
        sys.stdout.flush()

    return serve_forever(config, sock, ready=ready, workers=workers, load=load, watch=watch)


def _summary(config: Config) -> str:
    names = ", ".join(region.name for region in config.regions[:5])
    more = f" and {len(config.regions) - 5} more" if len(config.regions) > 5 else ""
    return f"in front of {names}{more}, level {config.cache.level}"
