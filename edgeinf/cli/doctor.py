"""``edgeinf doctor``: would it run here, and if not, why not."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from edgeinf.cli import output

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_COLOURS = {"ok": "\x1b[32m", "warn": "\x1b[33m", "fail": "\x1b[31m"}


@app.command()
def doctor(
    config: Annotated[str | None, typer.Option(help="config file; else the one in use")] = None,
    network: Annotated[bool, typer.Option(help="try whether each region can be reached")] = True,
    json: Annotated[bool, typer.Option("--json", help="a document instead of lines")] = False,
) -> int:
    """Check this machine: versions, config, port, folders, limits, and what is reachable.

    edgeinf doctor

    edgeinf doctor --no-network --json
    """
    from edgeinf.validate.doctor import examine

    checks = examine(config, env=os.environ, cwd=Path(), network=network)
    if json:
        output.print_json({"checks": [dataclasses.asdict(check) for check in checks]})
    else:
        paint = output.colour_wanted(sys.stdout)
        for check in checks:
            word = f"{_COLOURS[check.outcome]}{check.outcome:<4}\x1b[0m" if paint else f"{check.outcome:<4}"
            sys.stdout.write(f"{word}  {check.name}: {check.found}\n")
            if check.advice:
                sys.stdout.write(f"      {check.advice}\n")
    return 1 if any(check.outcome == "fail" for check in checks) else 0
