"""A path that names what an origin holds goes to the account that issued it; what an answer issues is remembered.

Which regions may be asked, and when one may stand in for another:

- What an account holds is asked for in that account only: by a name that it is known to have issued, in the path or
  in a JSON body; where nobody is known, in the first region's account. Regions of one account stand in for each other.
- What only computes, and any other GET, may be answered by every region.
- Something new (a POST to a collection) goes to the first region in use.

Asking twice does no harm where it is a GET or only computes; anything else is asked again only where the first time
nothing had been sent.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from edgeinf.core.dialects.origin_state import issued, referred
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import parse
from edgeinf.core.wire.headers import Headers, get
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.origin.health import CLOSED
from edgeinf.serve.origin.model_map import Target
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.account import holds_account
from edgeinf.serve.steps.issuers import find_issuers, note_issued

__all__ = ["Issued", "Way", "way"]

_READ = 256 * 1024

# What GETs under these show belongs to an account.
_HELD = frozenset(
    {
        *("assistants", "batches", "chat", "containers", "conversations", "evals", "files", "fine-tunes"),
        *("fine_tuning", "jobs", "messages", "organization", "responses", "skills", "threads", "uploads", "videos"),
        "vector_stores",
    }
)


class Way(msgspec.Struct, kw_only=True):
    """The regions that may be asked, in order. ``harmless``: asking twice changes nothing."""

    targets: tuple[Target, ...]
    harmless: bool


async def way(x: Exchange, runtime: Runtime, family: str, origins: Sequence[Origin], body: bytes = b"") -> Way:
    """Return where a request may go. ``body`` is what of it is known."""
    gets = x.method in ("GET", "HEAD")
    computes = x.method == "POST" and not holds_account(x.method, x.path)
    harmless = gets or computes
    collection, *segments = [part for part in x.path.split("/")[2:] if part] or [""]
    document = _document(body) if b"json" in x.headers.get(b"content-type", b"") else None
    refers = referred(body, document)
    names = [*segments, *refers]
    issuers = await find_issuers(x, names, runtime) if len(origins) > 1 else []
    creates = x.method == "POST" and not names
    free = (computes and not refers) or (gets and collection not in _HELD) or creates
    if issuers or not free:
        bound = issuers[-1][1] if issuers else origins[0].account(x.credential)
        # An account that is no longer in the config holds nothing that could be asked for.
        kept = [origin for origin in origins if origin.account(x.credential) == bound] or list(origins[:1])
        regions = {region for region, _ in issuers}
        return Way(targets=_in_order(sorted(kept, key=lambda o: o.name not in regions)), harmless=harmless)
    now = runtime.clock.monotonic()
    fit = [origin for origin in origins if runtime.regions.state(origin).health.state(now) == CLOSED]
    # Whether a region is back is tried with what may be asked again.
    origins = [*fit, *(origin for origin in origins if origin not in fit and (harmless or not fit))]
    return Way(targets=_in_order(_serving(runtime, family, origins, document)), harmless=harmless)


def _in_order(origins: Sequence[Origin]) -> tuple[Target, ...]:
    """Return targets of which the first that may be asked is chosen, whatever the regions' own priorities."""
    return tuple(
        Target(origin=msgspec.structs.replace(origin, priority=number), model="", sent="")
        for number, origin in enumerate(origins)
    )


def _serving(runtime: Runtime, family: str, origins: Sequence[Origin], document: object) -> Sequence[Origin]:
    """Leave out regions that know the body's model by another name: the body is sent as it is."""
    model = document.get("model") if isinstance(document, dict) else None
    stages = runtime.generation.stages(family, model) if isinstance(model, str) else ()
    serving = {target.origin.name for target in stages[0] if target.sent == model} if stages else set()
    return [origin for origin in origins if origin.name in serving] or origins


def _document(body: bytes) -> object:
    try:
        return parse(body) if body else None
    except CallError:
        return None  # the origin's to refuse


class Issued:
    """Reads along an answer, up to a bound, for the ids in it."""

    def __init__(self, x: Exchange, runtime: Runtime, origin: Origin, headers: Headers) -> None:
        self._x, self._runtime, self._origin = x, runtime, origin
        json = b"json" in (get(headers, b"content-type") or b"") and get(headers, b"content-encoding") is None
        self._reads = json and len(runtime.generation.origins) > 1
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> None:
        """Take note of a part of the answer."""
        if self._reads:
            self._parts.append(chunk)
            self._size += len(chunk)
            self._reads = self._size <= _READ

    def end(self) -> None:
        """Remember whose the ids are."""
        names = issued(b"".join(self._parts), every_id=True)
        if self._x.method in ("GET", "HEAD"):  # whoever issued them has told the others
            self._runtime.accounts.remember(names, self._origin.name, self._origin.account(self._x.credential))
        else:
            note_issued(self._x, names, self._origin, self._runtime)
