"""``edgeinf cache``: what is stored on disk, seen and changed from outside; a running server's memory follows."""

from __future__ import annotations

import math
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from edgeinf.cli import output
from edgeinf.core.errors import FindingError, UsageError

if TYPE_CHECKING:
    from edgeinf.core.config.schema import Config
    from edgeinf.serve.cache.disk import DiskTier
    from edgeinf.serve.cache.entry import Entry

__all__ = ["app"]

T = TypeVar("T")

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

# Entries that lead from an id to an answer or to the account that issued it.
_NO_ANSWERS = frozenset({"answer-id", "issued"})

_Config = Annotated[Path | None, typer.Option("--config", help="config file; its cache.disk and listen are meant")]
_Json = Annotated[bool, typer.Option("--json", help="one JSON document on stdout")]


@app.callback()
def cache() -> None:
    """See and change what is stored.

    edgeinf cache stats

    edgeinf cache list --model gpt-4o-mini --json
    """


@app.command()
def stats(config: _Config = None, json: _Json = False) -> None:
    """Say how much is stored, and for which models."""
    loaded = _load(config)

    async def look(disk: DiskTier) -> tuple[Any, Counter[str]]:
        models: Counter[str] = Counter()
        for _, entry in await _entries(disk):
            models[entry.asked or entry.model or ""] += 1
        return await disk.stats(), models

    held, models = _with_disk(loaded, look)
    server = _server(loaded, "/_edgeinf/api/stats") if loaded.dashboard.enabled else None
    if json:
        disk = {"entries": held.entries, "size_bytes": held.size_bytes, "max_size_bytes": held.max_size_bytes}
        output.print_json(
            {"path": str(_path(loaded)), "disk": disk, "models": dict(models), "server": server is not None}
        )
        return
    from edgeinf.core.units import format_size

    limit = "" if held.max_size_bytes is None else f" of {format_size(held.max_size_bytes)}"
    sys.stdout.write(f"{held.entries:,} answers, {format_size(held.size_bytes)}{limit}, in {_path(loaded)}\n")
    for name, count in models.most_common(20):
        sys.stdout.write(f"  {count:>8,}  {name}\n")


@app.command("list")
def list_(
    config: _Config = None,
    model: Annotated[str | None, typer.Option(help="only answers of this model")] = None,
    namespace: Annotated[str | None, typer.Option(help="only answers of this namespace")] = None,
    limit: Annotated[int, typer.Option(min=1, help="at most so many, newest first")] = 50,
    json: _Json = False,
) -> None:
    """List what is stored, newest first. No prompt is among it: an entry does not hold one."""
    loaded = _load(config)
    kept = [
        (find, entry)
        for find, entry in _with_disk(loaded, _entries)
        if (model is None or model in (entry.asked, entry.model)) and namespace in (None, entry.namespace)
    ]
    kept.sort(key=lambda pair: -pair[1].stored_at)
    rows = [_row(find, entry) for find, entry in kept[:limit]]
    if json:
        output.print_json({"entries": rows, "total": len(kept)})
        return
    for row in rows:
        sys.stdout.write(f"{row['key']}  {row['age_s']:>8}s  {row['size_bytes']:>8}  {row['model'] or ''}\n")
    if len(kept) > limit:
        output.note(f"and {len(kept) - limit} more; --limit shows them")


@app.command()
def get(
    key: Annotated[str, typer.Argument(help="as Cache-Status names it")], config: _Config = None, json: _Json = False
) -> None:
    """Print one stored answer as the origin sent it."""
    find = _find(key)
    entry = _with_disk(_load(config), lambda disk: _entry(disk, find))
    if entry is None:
        raise FindingError(f"nothing is stored under {key}")
    if json:
        output.print_json({**_row(find, entry), "body": entry.body.decode(errors="replace")})
    else:
        sys.stdout.write(entry.body.decode(errors="replace"))
        sys.stdout.write("" if entry.body.endswith(b"\n") else "\n")


@app.command()
def delete(
    keys: Annotated[list[str], typer.Argument(help="as Cache-Status names them")], config: _Config = None
) -> None:
    """Forget answers by key, on disk and in a running server."""
    loaded, finds = _load(config), [_find(key) for key in keys]

    async def forget(disk: DiskTier) -> int:
        present = [find for find in finds if await disk.get(find) is not None]
        for find in finds:
            await disk.delete(find)
        return len(present)

    gone = _with_disk(loaded, forget)
    for find in finds:
        _server(loaded, "/_edgeinf/api/purge", {"key": find.hex()})
    sys.stdout.write(f"{gone} forgotten\n")


@app.command()
def clear(
    config: _Config = None,
    model: Annotated[str | None, typer.Option(help="only answers of this model")] = None,
    namespace: Annotated[str | None, typer.Option(help="only answers of this namespace")] = None,
) -> None:
    """Forget everything, or all of a model or namespace, on disk and in a running server."""
    loaded = _load(config)
    narrowed = {name: value for name, value in (("model", model), ("namespace", namespace)) if value is not None}

    async def forget(disk: DiskTier) -> int:
        if not narrowed:
            return await disk.clear()
        gone = 0
        for find, entry in await _entries(disk):
            if (model is None or model in (entry.asked, entry.model)) and namespace in (None, entry.namespace):
                await disk.delete(find)
                gone += 1
        return gone

    # The server first: what it has yet to write would come back otherwise.
    answer = _server(loaded, "/_edgeinf/api/purge", narrowed or {"all": True})
    gone = _with_disk(loaded, forget) + (0 if answer is None else int(answer.get("purged", 0)))
    sys.stdout.write(f"{gone} forgotten\n")


@app.command()
def export(
    file: Annotated[Path, typer.Argument(help="ends in .gz or .zst to compress")], config: _Config = None
) -> None:
    """Write every stored answer to a file that ``import`` reads."""
    from edgeinf.serve.cache.archive import write_archive

    loaded = _load(config)

    async def read(disk: DiskTier) -> list[tuple[bytes, bytes]]:
        found = [(find, await disk.get(find)) for find in await disk.scan()]
        return [(find, raw) for find, raw in found if raw is not None]

    items = _with_disk(loaded, read)
    try:
        with _opened(file, "wb") as stream:
            count = write_archive(stream, items, _seed(loaded))
    except OSError as error:
        raise UsageError(f"cannot write {file}: {(error.strerror or str(error)).lower()}") from None
    sys.stdout.write(f"{count} written to {file}\n")


@app.command("import")
def import_(file: Annotated[Path, typer.Argument(help="what export wrote")], config: _Config = None) -> None:
    """Take in what ``export`` wrote; what is damaged or has outlived its time is left out."""
    from edgeinf.serve.cache.archive import read_archive

    loaded = _load(config)
    try:
        with _opened(file, "rb") as stream:
            found = list(read_archive(stream, _seed(loaded), time.time()))
    except UsageError:
        raise
    except Exception as error:  # each way of compression has its own
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise UsageError(f"cannot read {file}: {why[:1].lower()}{why[1:]}") from None
    good = [item for item in found if item is not None]
    _with_disk(loaded, lambda disk: disk.put(good))
    sys.stdout.write(f"{len(good)} taken in, {len(found) - len(good)} left out\n")


def _load(config: Path | None) -> Config:
    from edgeinf.core.config.load import load

    return load(config, env=os.environ)


def _path(config: Config) -> Path:
    if config.cache.disk is None:
        raise UsageError("this config keeps nothing on disk", hint="cache.disk names a directory")
    return config.cache.disk.path


def _with_disk(config: Config, work: Callable[[DiskTier], Coroutine[Any, Any, T]]) -> T:
    """Run ``work`` on the disk tier. Raise UsageError where it cannot be used."""
    import asyncio

    from edgeinf.serve.cache.base import TierFailed
    from edgeinf.serve.cache.disk import DiskTier

    path = _path(config)
    size = config.cache.disk.max_size if config.cache.disk is not None else 0

    async def main() -> T:
        disk = DiskTier(path, max_size=size)
        try:
            return await work(disk)
        finally:
            await disk.aclose()

    try:
        return asyncio.run(main())
    except TierFailed as error:
        raise UsageError(str(error)) from None


async def _entries(disk: DiskTier) -> list[tuple[bytes, Entry]]:
    found = [(find, await _entry(disk, find)) for find in await disk.scan()]
    return [(find, entry) for find, entry in found if entry is not None and entry.dialect not in _NO_ANSWERS]


async def _entry(disk: DiskTier, find: bytes) -> Entry | None:
    from edgeinf.serve.cache.entry import decode

    raw = await disk.get(find)
    return None if raw is None else decode(raw)


def _row(find: bytes, entry: Entry) -> dict[str, Any]:
    now = time.time()
    return {
        "key": find.hex(),
        "model": entry.asked or entry.model,
        "answered_by": entry.model,
        "region": entry.region,
        "dialect": entry.dialect,
        "namespace": entry.namespace,
        "age_s": round(now - entry.stored_at),
        "ttl_s": None if math.isinf(entry.ttl_s) else round(entry.stored_at + entry.ttl_s - now),
        "size_bytes": len(entry.body),
        "stream": entry.stream,
        "input_tokens": entry.usage.input_tokens,
        "output_tokens": entry.usage.output_tokens,
    }


def _find(key: str) -> bytes:
    try:
        find = bytes.fromhex(key)
    except ValueError:
        find = b""
    if len(find) != 16:
        raise UsageError(f"{key!r} is no key", hint="a key is the 32 hexadecimal digits that Cache-Status shows")
    return find


def _server(config: Config, path: str, body: dict[str, Any] | None = None) -> dict[str, Any] | None:
    from edgeinf.serve.operator import ask, server_url

    url = server_url(config.listen.host, config.listen.port, tls=config.listen.tls is not None)
    return ask(url, path, body=body, admin_key=os.environ.get("EDGEINF_ADMIN_KEY"))


def _seed(config: Config) -> int:
    from edgeinf.serve.runtime import seed_of
    from edgeinf.serve.secret import event_secret

    return seed_of(config, event_secret(config))


def _opened(file: Path, mode: str) -> Any:
    if mode == "rb" and str(file) == "-":
        import io

        from edgeinf.core.packed import unpacked
        from edgeinf.core.stdin import standard_input

        return io.BytesIO(unpacked(standard_input().read()))
    if file.suffix == ".gz":
        import gzip

        return gzip.open(file, mode)
    if file.suffix == ".zst":
        import io

        import zstandard

        stream = zstandard.open(file, mode)
        return io.BufferedReader(stream) if mode == "rb" else stream  # which reads lines
    return file.open(mode)
