"""``edgeinf init``: a first config, from what the machine has or from another tool's file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from edgeinf.cli import output

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def init(
    file: Annotated[Path, typer.Argument(help="where to write; never over what is there")] = Path("edgeinf.yaml"),
    source: Annotated[
        tuple[str, str] | None,
        typer.Option("--from", metavar="litellm FILE", help="write our config for another tool's"),
    ] = None,
    detect: Annotated[bool, typer.Option(help="look for provider keys and servers on this machine")] = True,
) -> None:
    """Write a commented config for what this machine has, or for another tool's config.

    edgeinf init --no-detect

    edgeinf init --from litellm config.yaml
    """
    from edgeinf.core.errors import UsageError

    if os.path.lexists(file):
        raise UsageError(f"{file} is there already", hint="name another file; edgeinf validate checks this one")
    text = _converted(source) if source else _fresh(detect)
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {(error.strerror or '').lower()}") from None
    output.note(f"wrote {file}; next: edgeinf validate {file}, then edgeinf serve --config {file}")


def _fresh(detect: bool) -> str:
    from edgeinf.validate.detect import local_servers, providers
    from edgeinf.validate.template import template

    hosted = providers(os.environ) if detect else []
    local = local_servers() if detect else []
    for server in local:
        output.note(f"found {server.name} on port {server.port}")
    for provider, variable in hosted:
        output.note(f"found {variable} for {provider.name}")
    return template(hosted, local)


def _converted(source: tuple[str, str]) -> str:
    from edgeinf.core.config.source import read_source
    from edgeinf.core.errors import UsageError
    from edgeinf.validate.foreign.litellm_convert import convert
    from edgeinf.validate.read import expand, read

    tool, file = source
    if tool != "litellm":
        raise UsageError(f"--from does not know the tool {tool!r}", hint="one of: litellm")
    name = expand([file])[0]
    read_in = read_source(read(name), name)
    if read_in.broken:
        fault = read_in.faults[-1]
        where = f"{name}:{fault.span.line}:{fault.span.column}" if fault.span else name
        raise UsageError(f"{fault.message} ({where})", hint=f"edgeinf validate --kind litellm {name}")
    made = convert(read_in.tree)
    for line in made.notes:
        output.note(f"note: {line}")
    return made.text
