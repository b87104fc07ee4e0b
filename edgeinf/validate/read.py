"""Read the files that a command line names: paths, globs, ``-``, and what gzip or zstd has packed."""

from __future__ import annotations

import glob
from pathlib import Path

from edgeinf.core.config.load import NAMES
from edgeinf.core.config.source import MAX_BYTES
from edgeinf.core.errors import UsageError
from edgeinf.core.packed import unpacked
from edgeinf.core.stdin import standard_input

__all__ = ["expand", "read"]


def expand(names: list[str]) -> list[str]:
    """Return the paths that ``names`` mean, in order. Raise UsageError for one that means none."""
    found: list[str] = []
    for name in names:
        path = Path(name)
        if name == "-" or path.is_file():
            found.append(name)
        elif path.is_dir():
            inside = [str(path / each) for each in NAMES if (path / each).is_file()]
            if not inside:
                raise UsageError(f"there is no {NAMES[0]} in {name}", hint="name the file")
            found.append(inside[0])
        elif matches := [m for m in sorted(glob.glob(name, recursive=True)) if Path(m).is_file()]:
            found.extend(matches)
        elif path.exists():  # a pipe: <(command)
            found.append(name)
        else:
            raise UsageError(f"there is no file {name}", hint="edgeinf init writes one")
    return found


def read(name: str) -> bytes:
    """Return a file's content, unpacked, cut beyond what a config may hold. Raise UsageError if it cannot be read."""
    try:
        if name == "-":
            data = standard_input().read(MAX_BYTES + 1)
        else:
            with open(name, "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read {name}: {(error.strerror or str(error)).lower()}") from None
    try:
        return unpacked(data, MAX_BYTES + 1)
    except (OSError, EOFError, ValueError):
        raise UsageError(f"cannot unpack {name}: the file is damaged") from None
