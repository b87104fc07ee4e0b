"""``edgeinf index``: documents for context."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from edgeinf.cli import output

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def index(
    folder: Annotated[Path, typer.Argument(help="a folder of text files, or one file")],
    out: Annotated[Path | None, typer.Option(help="where to write the index; else where serve keeps it")] = None,
    ask: Annotated[str | None, typer.Option(help="a question, to see which passages answer it")] = None,
    top_k: Annotated[int, typer.Option(min=1, max=50, help="how many passages to show")] = 4,
    config: Annotated[Path | None, typer.Option(help="config file; else ./edgeinf.yaml, else the defaults")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Index documents for prompts, or bring their index up to date. No network.

    edgeinf index docs --out docs.sqlite

    edgeinf index docs --ask "how do I rotate a key?"
    """
    from edgeinf.serve.context.index import Index
    from edgeinf.serve.context.search import search

    path = out if out is not None else _where(folder, config)
    made = Index(path)
    try:
        updated = made.update(folder)
        hits = search(made, ask, top_k) if ask is not None else []
    finally:
        made.close()
    where = str(path) if path is not None else None
    if json:
        counts = {"files": updated.files, "passages": updated.passages, "changed": updated.changed}
        found = [{"path": h.path, "heading": h.heading, "line": h.line, "text": h.text, "score": h.score} for h in hits]
        output.print_json({"index": where, **counts, **({} if ask is None else {"hits": found})})
        return
    if ask is None:
        sys.stdout.write(f"{updated.files} files, {updated.passages} passages, {updated.changed} changed\n")
        output.note(f"the index is {where}" if where else "the cache has no disk, so the index was not kept")
        return
    for number, hit in enumerate(hits, 1):
        place = f"{hit.path}:{hit.line}" + (f"  {hit.heading}" if hit.heading else "")
        sys.stdout.write(f"[{number}] {place}  ({hit.score:.2f})\n{hit.text}\n\n")
    if not hits:
        output.note("no passage has a word of the question")


def _where(folder: Path, config: Path | None) -> Path | None:
    """Return where ``serve`` keeps the index of a folder under this config."""
    import os

    from edgeinf.core.config.load import load
    from edgeinf.serve.context.index import default_path

    disk = load(config, env=os.environ, insecure=True).cache.disk
    return None if disk is None else default_path(folder, disk.path)
