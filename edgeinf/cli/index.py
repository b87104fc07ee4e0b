"""``edgeinf index``: documents for context."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from edgeinf.cli import output
from edgeinf.core.errors import UsageError

if TYPE_CHECKING:
    from edgeinf.serve.context.index import Index
    from edgeinf.serve.context.search import Hit
    from edgeinf.serve.origin.region import Origin

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def index(
    folder: Annotated[Path, typer.Argument(help="a folder of text files, or one file")],
    out: Annotated[Path | None, typer.Option(help="where to write the index; else where serve keeps it")] = None,
    ask: Annotated[str | None, typer.Option(help="a question, to see which passages answer it")] = None,
    top_k: Annotated[int, typer.Option(min=1, max=50, help="how many passages to show")] = 4,
    vectors_model: Annotated[str | None, typer.Option(help="a model to embed the passages with")] = None,
    region: Annotated[str | None, typer.Option(help="who embeds: a region of the config, or a url")] = None,
    config: Annotated[Path | None, typer.Option(help="config file; else ./edgeinf.yaml, else the defaults")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Index documents for prompts, or bring their index up to date. No network, but to embed with --vectors-model.

    edgeinf index docs --out docs.sqlite

    edgeinf index docs --ask "how do I rotate a key?"
    """
    import asyncio

    from edgeinf.serve.context.index import Index
    from edgeinf.serve.context.search import search

    if region is not None and vectors_model is None:
        raise UsageError("--region is for --vectors-model", hint="add --vectors-model with a model of that region")
    path = out if out is not None else _where(folder, config)
    made = Index(path)
    embedded = None
    try:
        updated = made.update(folder)
        if vectors_model is None:
            hits = search(made, ask, top_k) if ask is not None else []
        else:
            origin = _origin(region, config)
            embedded, hits = asyncio.run(_embed(made, path, vectors_model, origin, ask, top_k))
    finally:
        made.close()
    where = str(path) if path is not None else None
    if json:
        counts = {"files": updated.files, "passages": updated.passages, "changed": updated.changed}
        found = [{"path": h.path, "heading": h.heading, "line": h.line, "text": h.text, "score": h.score} for h in hits]
        more = {} if embedded is None else {"embedded": embedded}
        output.print_json({"index": where, **counts, **more, **({} if ask is None else {"hits": found})})
        return
    if ask is None:
        sys.stdout.write(f"{updated.files} files, {updated.passages} passages, {updated.changed} changed")
        sys.stdout.write("\n" if embedded is None else f", {embedded} passages embedded\n")
        output.note(f"the index is {where}" if where else "the cache has no disk, so the index was not kept")
        return
    for number, hit in enumerate(hits, 1):
        place = f"{hit.path}:{hit.line}" + (f"  {hit.heading}" if hit.heading else "")
        sys.stdout.write(f"[{number}] {place}  ({hit.score:.2f})\n{hit.text}\n\n")
    if not hits:
        output.note("no passage has a word of the question")


async def _embed(
    made: Index, path: Path | None, model: str, origin: Origin, ask: str | None, top_k: int
) -> tuple[int, list[Hit]]:
    """Embed what is not yet and answer the question; return how many passages that were, and those that answer."""
    from edgeinf.core.errors import RemoteError
    from edgeinf.serve.context.embedder import VectorsFailed
    from edgeinf.serve.context.hybrid import find
    from edgeinf.serve.context.vector_store import path_beside
    from edgeinf.serve.context.vectors import Vectors
    from edgeinf.serve.origin.pool import Connections

    vectors = Vectors(model, origin, None if path is None else path_beside(path, model))
    client = Connections()
    try:
        embedded = await vectors.embed(client, made)
        if embedded is None:
            raise UsageError("another process embeds these documents", hint="wait until it is done")
        vectors.read(made)
        if ask is None:
            return embedded, []
        hits, by_meaning = await find(made, vectors, client, ask, top_k)
        if not by_meaning:
            raise RemoteError("the question could not be embedded", hint="see the warning above")
        return embedded, hits
    except VectorsFailed as failure:
        raise RemoteError(str(failure), hint="what was embedded before that is kept") from None
    finally:
        await client.aclose()
        vectors.store.close()


def _origin(region: str | None, config: Path | None) -> Origin:
    """Return who embeds: a region of the config, by default its first that serves openai, or a url."""
    import os

    from edgeinf.core.config.load import load
    from edgeinf.core.config.schema import Region
    from edgeinf.serve.origin.region import make_origin

    if region is not None and region.startswith(("http://", "https://")):
        return make_origin(Region(name="embeddings", url=region))
    regions = load(config, env=os.environ, insecure=True).regions
    able = [r for r in regions if "openai" in r.serves]
    for found in able:
        if region in (None, found.name):
            return make_origin(found)
    names = ", ".join(r.name for r in able)
    what = "serves openai" if region is None else f"serves openai and is named {region!r}"
    raise UsageError(f"no region {what}", hint=f"one of: {names}" if names else "give --region a url")


def _where(folder: Path, config: Path | None) -> Path | None:
    """Return where ``serve`` keeps the index of a folder under this config."""
    import os

    from edgeinf.core.config.load import load
    from edgeinf.serve.context.index import default_path

    disk = load(config, env=os.environ, insecure=True).cache.disk
    return None if disk is None else default_path(folder, disk.path)
