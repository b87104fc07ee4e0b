"""``edgeinf mock``: the scripted origin as a command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

app = typer.Typer(add_completion=False)

_EPILOG = (
    "Speaks the OpenAI, Anthropic and rerank APIs with answers made from the request. Calls are counted at "
    "/_mock/calls; POST /_mock/reset, /_mock/script (YAML or JSON), /_mock/release, /_mock/freeze?for=2s and "
    "/_mock/down?for=2s steer it. A request may ask for its own fault: the header X-Mock-Fault, or the body field mock."
)


@app.command(epilog=_EPILOG)
def mock(
    port: int = typer.Option(9000, min=0, max=65535, help="port to listen on; 0 picks one"),
    host: str = typer.Option("127.0.0.1", help="address to listen on"),
    name: str = typer.Option(None, help="the region's name, stated in answers"),
    ttft: str = typer.Option(None, help="time to the first token, such as 200ms"),
    tpot: str = typer.Option(None, help="time per further token, such as 10ms"),
    tokens: int = typer.Option(None, help="output tokens per answer, within the request's own limit"),
    fault: list[str] = typer.Option((), help="KIND:RATE or KIND;NAME=VALUE:RATE, such as cut;after=3:10%; repeatable"),
    seed: int = typer.Option(None, help="seed of the rates"),
    script: Path = typer.Option(None, help="a YAML or JSON file: answers, delays, rules, several regions"),
    tls_cert: Path = typer.Option(None, help="speak https with this certificate"),
    tls_key: Path = typer.Option(None, help="the certificate's key"),
    keep: int = typer.Option(1000, help="calls remembered in full"),
    list_faults: bool = typer.Option(False, "--list-faults", help="print every kind of fault, and stop"),
    json: bool = typer.Option(False, "--json", help="print one line of JSON when ready"),
) -> int:
    """Run a scripted origin with delays and faults.

    edgeinf mock --port 9000 --ttft 200ms --tpot 10ms

    edgeinf mock --fault 429:5% --fault "cut;after=3:10%"
    """
    from edgeinf.core.errors import UsageError
    from edgeinf.mock.command import describe_faults, read_command

    if list_faults:
        _print(describe_faults())
        return 0
    if (tls_cert is None) != (tls_key is None):
        raise UsageError("--tls-cert and --tls-key belong together")
    flags: dict[str, Any] = {"name": name, "ttft": ttft, "tpot": tpot, "tokens": tokens, "seed": seed}
    scripts = read_command(script, flags, fault, port=port)
    return _serve(scripts, host, tls_cert, tls_key, keep, json)


def _serve(scripts: Any, host: str, tls_cert: Path | None, tls_key: Path | None, keep: int, json: bool) -> int:
    import signal

    import msgspec

    from edgeinf.cli.failures import Terminated
    from edgeinf.mock.run import run
    from edgeinf.mock.tls import server_context

    def ready(origins: Any) -> None:
        if json:
            regions = [{"name": origin.script.name, "url": origin.url} for origin in origins]
            _print(msgspec.json.encode({"event": "ready", "url": origins[0].url, "regions": regions}).decode())
        else:
            _print("\n".join(f"{origin.script.name}: {origin.url}/v1" for origin in origins))

    tls = server_context(tls_cert, tls_key) if tls_cert is not None and tls_key is not None else None
    number = run(scripts, host=host, tls=tls, keep=keep, ready=ready)
    raise Terminated if number == signal.SIGTERM else KeyboardInterrupt


def _print(text: str) -> None:
    print(text, flush=True)
