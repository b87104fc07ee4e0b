"""Built-in lists of endpoints, dated data files: what ``aws``, ``gcp:europe-*`` or ``openai`` stand for."""

from __future__ import annotations

import difflib
import functools
from fnmatch import fnmatchcase
from importlib import resources

import msgspec

from edgeinf.core.errors import UsageError

__all__ = ["NAMES", "Catalogue", "Entry", "expand", "read_catalogue"]

NAMES = ("aws", "bedrock", "azure", "gcp", "api")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One endpoint; ``location`` is a cloud region of ``core/places.json``."""

    name: str
    url: str
    location: str | None = None


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """One list, with the month and the vendor's pages that it was checked against."""

    dated: str
    about: str
    source: str
    targets: tuple[Entry, ...]


@functools.cache
def read_catalogue(name: str) -> Catalogue:
    """Return a list by its name, one of ``NAMES``."""
    file = resources.files("edgeinf.probe").joinpath("catalogues", f"{name}.json")
    return msgspec.json.decode(file.read_bytes(), type=Catalogue)


def expand(word: str) -> list[Entry]:
    """Return the endpoints that ``aws``, ``aws:us-*`` or ``openai`` name. Raise UsageError with what is near."""
    name, _, pattern = word.partition(":")
    if name in NAMES:
        found = [e for e in read_catalogue(name).targets if fnmatchcase(e.name, pattern or "*")]
        if not found:
            names = [e.name for e in read_catalogue(name).targets]
            near = difflib.get_close_matches(pattern, names, n=1)
            raise UsageError(
                f"nothing in the list {name!r} is called {pattern!r}",
                hint=f"did you mean {near[0]!r}?" if near else f"for example {name}:{names[0]}",
            )
        return [msgspec.structs.replace(e, name=f"{name}:{e.name}") for e in found]
    apis = {e.name: e for e in read_catalogue("api").targets}
    if word in apis:
        return [apis[word]]
    near = difflib.get_close_matches(word, [*NAMES, *apis], n=1)
    lists = f"a URL, NAME=URL, one of the lists {', '.join(NAMES)}, or an API: {', '.join(apis)}"
    raise UsageError(f"{word!r} is not a target", hint=f"did you mean {near[0]!r}?" if near else f"write {lists}")
