"""``edgeinf keys``: virtual keys. The config only ever holds their hashes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from edgeinf.cli import output

__all__ = ["app"]

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def keys() -> None:
    """Make virtual keys, and hash them for the config.

    edgeinf keys new --id acme-web --team acme

    edgeinf keys new --json
    """


@app.command()
def new(
    id: Annotated[str, typer.Option(help="its public name, which logs and limits show")] = "client",
    team: Annotated[str | None, typer.Option(help="the team it belongs to")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Make a key. It is shown once and kept nowhere; only its hash goes into the config.

    edgeinf keys new --id acme-web --team acme

    edgeinf keys new --json
    """
    import secrets

    # 32 random bytes: nothing slower than one hash is needed to keep such a secret, since none of it can be guessed.
    made = f"ek-{secrets.token_urlsafe(32)}"
    digest = _digest(made)
    if json:
        output.print_json({"id": id, "team": team, "key": made, "sha256": digest})
        return
    sys.stdout.write(f"key     {made}\nsha256  {digest}\n")
    entry = f'id: {_quoted(id)}, {f"team: {_quoted(team)}, " if team else ""}sha256: "{digest}"'
    output.note(f"the key is shown this once; into the config goes\nauth:\n  keys:\n    - {{{entry}}}")


@app.command("hash")
def hash_(
    json: Annotated[bool, typer.Option("--json", help="print one JSON document")] = False,
) -> None:
    """Print the hash of a key that is typed, or read from standard input.

    printf %s "$KEY" | edgeinf keys hash

    printf %s "$KEY" | edgeinf keys hash --json
    """
    from edgeinf.core.errors import UsageError

    if sys.stdin is None:  # the caller has closed it
        given = ""
    elif sys.stdin.isatty():
        import getpass

        given = getpass.getpass("key: ")
    else:
        given = sys.stdin.read()
    key = given.strip()
    if not key or any(letter.isspace() for letter in key):
        raise UsageError("no key was given" if not key else "a key holds no white space", hint="one key on stdin")
    if len(key) < 16:
        output.note("warning: a key this short can be guessed; edgeinf keys new makes a long one")
    if json:
        output.print_json({"sha256": _digest(key)})
    else:
        sys.stdout.write(_digest(key) + "\n")


def _digest(key: str) -> str:
    import hashlib

    return hashlib.sha256(key.encode()).hexdigest()


def _quoted(name: str) -> str:
    import msgspec

    return name if name.replace("-", "").replace("_", "").isalnum() else msgspec.json.encode(name).decode()
