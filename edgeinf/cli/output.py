"""Results to stdout, everything else to stderr, colour only where a person looks."""

from __future__ import annotations

import errno
import os
import sys
import time
from typing import IO, TYPE_CHECKING, Any

from edgeinf.core.errors import UsageError
from edgeinf.core.printable import printable
from edgeinf.core.redact import redact

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "Progress",
    "check_writable",
    "colour_wanted",
    "note",
    "print_error",
    "print_json",
    "take_global_flags",
]

_quiet = False


def take_global_flags(arguments: list[str]) -> list[str]:
    """Remove ``--quiet`` and ``--no-color`` from the arguments before ``--`` and remember them."""
    global _quiet
    end = arguments.index("--") if "--" in arguments else len(arguments)
    head = arguments[:end]
    _quiet = "--quiet" in head
    if "--no-color" in head:
        os.environ["NO_COLOR"] = "1"
    return [a for a in head if a not in ("--quiet", "--no-color")] + arguments[end:]


def colour_wanted(stream: IO[str]) -> bool:
    """Return whether ``stream`` is a terminal whose user has not asked for plain text."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def check_writable(*files: Path | None) -> None:
    """Raise UsageError for the first file that could not be written, before the work that would be lost."""
    for file in files:
        if file is None:
            continue
        code = 0
        if file.is_dir():
            code = errno.EISDIR
        elif not file.exists() and not file.parent.is_dir():
            code = errno.ENOENT
        elif not os.access(file if file.exists() else file.parent, os.W_OK):
            code = errno.EACCES
        if code:
            raise UsageError(f"cannot write {file}: {os.strerror(code).lower()}")


def print_json(document: dict[str, Any]) -> None:
    """Write one JSON document to stdout, with the schema version that every document carries."""
    import msgspec

    body = msgspec.json.format(msgspec.json.encode({"schema_version": 1, **document}), indent=2)
    sys.stdout.write(body.decode() + "\n")


def note(text: str) -> None:
    """Tell the person something that is not the result; silent under ``--quiet``."""
    if not _quiet:
        sys.stderr.write(printable(redact(text)) + "\n")


def print_error(message: str, hint: str | None = None) -> None:
    """Write ``error: …`` and ``hint: …`` to stderr, with secrets masked."""
    sys.stderr.write(f"error: {printable(redact(message))}\n")
    if hint:
        sys.stderr.write(f"hint: {printable(redact(hint))}\n")


class Progress:
    """Progress of long work on stderr: a bar on a terminal, a plain line every ten seconds elsewhere.

    Units are the caller's (bytes, requests); ``total`` may be 0 if unknown.
    """

    _EVERY_S = 10.0

    def __init__(self, what: str, total: int = 0, *, stream: IO[str] | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = stream or sys.stderr
        self._terminal = colour_wanted(self._stream)
        self._started = self._last = time.monotonic()
        self._drawn = False

    def update(self, done: int) -> None:
        """Say that ``done`` units are done; cheap to call often."""
        now = time.monotonic()
        if _quiet or now - self._last < (0.1 if self._terminal else self._EVERY_S):
            return
        self._last = now
        share = f"{100 * done / self._total:3.0f} %" if self._total else f"{done:,}"
        if self._terminal:
            filled = int(30 * done / self._total) if self._total else 0
            self._stream.write(f"\r{self._what} [{'#' * filled:<30}] {share} ")
            self._drawn = True
        else:
            self._stream.write(f"{self._what}: {share} after {now - self._started:.0f} s\n")
        self._stream.flush()

    def close(self) -> None:
        """Remove the bar, so that what follows starts on a clean line."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
