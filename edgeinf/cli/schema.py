"""``edgeinf schema``: the JSON Schema of the config, for editors."""

from __future__ import annotations

import sys

import typer

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def schema() -> None:
    """Print the JSON Schema of the config.

    edgeinf schema > edgeinf.schema.json

    edgeinf schema | jq '.properties | keys'
    """
    from edgeinf.validate.published import text

    sys.stdout.write(text())
