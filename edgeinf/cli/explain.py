"""``edgeinf explain``: why two request bodies do or do not share a key."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from edgeinf.cli.output import print_json
from edgeinf.core.errors import CallError, RemoteError, UsageError

if TYPE_CHECKING:
    from edgeinf.core.explain import Difference, Explanation

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def explain(
    bodies: Annotated[list[str], typer.Argument(metavar="A.json [B.json]", help="request bodies; - is standard input")],
    path: Annotated[
        str, typer.Option(help="the path they were sent to; it picks the dialect")
    ] = "/v1/chat/completions",
    mask: Annotated[
        list[str] | None, typer.Option(help="a kind that level masked masks, as in cache.mask; repeatable")
    ] = None,
    allow: Annotated[list[str] | None, typer.Option(help="a reason that is no bypass, as in cache.allow")] = None,
    against: Annotated[
        str | None, typer.Option(metavar="URL", help="a running server: compare A.json with its nearest recent request")
    ] = None,
    key_env: Annotated[str | None, typer.Option(help="variable with the server's admin key")] = None,
    json: Annotated[bool, typer.Option("--json", help="one JSON document on stdout")] = False,
) -> int:
    """Say why two request bodies do or do not share a key: where they differ, and which level overlooks it.

    edgeinf explain a.json b.json

    edgeinf explain a.json b.json --path /v1/messages --json
    """
    if against is not None:
        if len(bodies) != 1:
            raise UsageError("--against takes one body", hint="edgeinf explain a.json --against http://127.0.0.1:8787")
        return _against(against, path, _read(bodies[0]), key_env, json)
    if len(bodies) != 2:
        raise UsageError("two bodies are compared", hint="edgeinf explain a.json b.json")
    if bodies == ["-", "-"]:
        raise UsageError("standard input can be one of the two bodies only")
    found = _compare(bodies, path, tuple(mask) if mask else None, frozenset(allow or ()))
    if json:
        import msgspec

        print_json(msgspec.to_builtins(found))
    else:
        sys.stdout.write(_written(found))
    return 0


def _compare(bodies: list[str], path: str, mask: tuple[str, ...] | None, allow: frozenset[str]) -> Explanation:
    from edgeinf.core.cacheable import BYPASS_REASONS, CachePolicy
    from edgeinf.core.dialects import dialects, for_path
    from edgeinf.core.explain import explain as compare
    from edgeinf.core.normalize.levels import DEFAULT_MASK, MASK_KINDS

    dialect = for_path(path)
    if dialect is None:
        known = sorted(path for dialect in dialects().values() for path in dialect.paths)
        raise UsageError(f"no dialect claims {path!r}", hint=f"one of: {', '.join(known)}")
    for kind in mask or ():
        if kind not in MASK_KINDS:
            raise UsageError(f"unknown kind of mask {kind!r}", hint=f"one of: {', '.join(MASK_KINDS)}")
    for reason in allow:
        if reason not in BYPASS_REASONS:
            raise UsageError(f"unknown reason {reason!r}", hint=f"one of: {', '.join(BYPASS_REASONS)}")
    calls = []
    for name in bodies:
        try:
            calls.append(dialect.read(path, "", _parsed(_read(name))))
        except CallError as error:
            raise UsageError(f"{error.message} ({name})", hint=error.hint) from None
    return compare(calls[0], calls[1], dialect, policy=CachePolicy(allow=allow), mask=mask or DEFAULT_MASK)


def _parsed(raw: bytes) -> dict[str, Any]:
    from edgeinf.core.wire.canonical import parse_object

    return parse_object(raw)


def _read(name: str) -> bytes:
    from edgeinf.core.packed import unpacked
    from edgeinf.core.stdin import standard_input

    try:
        return unpacked(standard_input().read() if name == "-" else Path(name).read_bytes())
    except (OSError, EOFError, ValueError) as error:
        said = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(f"{name} cannot be read: {said}") from None


def _written(found: Explanation) -> str:
    lines = []
    for name, keys in found.levels.items():
        word = "the same question" if keys.same else "two questions"
        lines.append(f"{name:<7} {word:<18} {keys.key_a}" + ("" if keys.same else f"  {keys.key_b}"))
    lines += ["", *(_line(difference) for difference in found.differences)]
    if not found.differences:
        lines.append("the bodies do not differ")
    if found.truncated:
        lines.append("there are more differences than are shown")
    for bypass in found.bypass:
        side = "both are" if bypass.side == "both" else f"{bypass.side} is"
        lines.append(f"{side} never cached ({bypass.reason}): {bypass.detail}")
    return "\n".join(lines) + "\n"


def _line(difference: Difference) -> str:
    merged = "kept apart at every level"
    if difference.kind == "ignored":
        merged = "no part of the key"
    elif difference.merged_at is not None:
        merged = f"merged from level {difference.merged_at}"
    return f"{difference.path}: {difference.kind}, {merged}\n    a: {difference.a!r}\n    b: {difference.b!r}"


def _against(url: str, path: str, raw: bytes, key_env: str | None, json: bool) -> int:
    """Ask a running server; it compares digests, so that no prompt leaves it."""
    import os
    import urllib.error
    import urllib.request

    import msgspec

    try:
        body = _parsed(raw)
    except CallError as error:
        raise UsageError(error.message, hint=error.hint) from None
    headers = {"content-type": "application/json"}
    if key_env is not None:
        if not os.environ.get(key_env):
            raise UsageError(f"the variable {key_env} is not set")
        headers["authorization"] = f"Bearer {os.environ[key_env]}"
    if not url.startswith(("http://", "https://")):
        raise UsageError(f"{url!r} is not the URL of a server", hint="for example http://127.0.0.1:8787")
    request = urllib.request.Request(
        url.rstrip("/") + "/_edgeinf/api/explain",
        data=msgspec.json.encode({"path": path, "body": body}),
        headers=headers,
        method="POST",
    )
    try:
        with _opener().open(request, timeout=10) as response:
            document = msgspec.json.decode(response.read())
    except urllib.error.HTTPError as error:
        raise RemoteError(
            f"the server answered {error.code} ({url})", hint="it takes the admin key: --key-env"
        ) from None
    except (OSError, msgspec.DecodeError) as error:
        raise RemoteError(f"the server cannot be asked ({url}): {error}") from None
    if json:
        document.pop("schema_version", None)
        print_json(document)
        return 0
    sys.stdout.write(f"{document.get('why') or 'nothing is known of this request'}\n")
    for part in document.get("parts") or ():
        if part.get("verdict") != "same":
            sys.stdout.write(f"    {part.get('path')}: {part.get('verdict')}\n")
    return 0


def _opener() -> Any:
    """Return an opener that follows no redirect, so that no key goes elsewhere, and uses no proxy."""
    import urllib.request

    class Stay(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *ignored: Any, **also_ignored: Any) -> None:
            return None

    return urllib.request.build_opener(Stay, urllib.request.ProxyHandler({}))
