"""A region as the relay uses it."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from urllib.parse import quote, urlsplit

import msgspec

from edgeinf.core.config.schema import Load, Region, Timeouts
from edgeinf.core.errors import ConfigError
from edgeinf.core.places import Place, find_place

__all__ = ["Origin", "make_origin", "place_of"]


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """A region. ``base`` has no trailing slash and no ``/v1``."""

    name: str
    base: str
    families: frozenset[str]
    passthrough: bool
    credential: str | None
    headers: tuple[tuple[bytes, bytes], ...]
    timeouts: Timeouts
    completeness: str = "strict"
    max_concurrency: int | None = None
    http2: bool = False
    weight: float = 1.0
    priority: int = 0
    place: Place | None = None
    load: Load | None = None

    def url(self, path: str, query: str) -> str:
        """Return where a request path (as decoded by the server) and query (as it came) live at this origin."""
        path = _quoted(path)
        return f"{self.base}{path}?{_query(query)}" if query else self.base + path

    @property
    def site(self) -> str:
        """Return scheme, host and port: what a credential is meant for."""
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}".lower()

    def account(self, client: str) -> str:
        """Return a name for who holds what this region stores: a digest, never a credential.

        ``client`` is the digest of the client's own credential, which counts where it is passed through.
        """
        if self.credential is not None:
            return hashlib.blake2b(self.credential.encode(), digest_size=12).hexdigest()
        return f"{self.site}|{client if self.passthrough else ''}"


def make_origin(region: Region) -> Origin:
    """Return what a region's config means. Raise ConfigError where its credential's file cannot be read."""
    return Origin(
        name=region.name,
        base=region.url.rstrip("/").removesuffix("/v1"),
        families=frozenset(region.serves),
        passthrough=region.passthrough,
        credential=_credential(region),
        headers=tuple(
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in sorted(region.headers.items())
        ),
        timeouts=region.timeouts,
        completeness=region.completeness,
        max_concurrency=region.max_concurrency,
        http2=region.http2,
        weight=region.weight,
        priority=region.priority,
        place=place_of(region.location),
        load=region.load,
    )


@lru_cache(maxsize=1024)
def _quoted(path: str) -> str:
    # The server has decoded the path: a line end in it must not become one in the request that we write.
    return quote(path, safe="/:@!$&'()*+,;=-._~")


def _query(query: str) -> str:
    if query.isascii() and query.isprintable() and " " not in query:
        return query
    return quote(query.encode("latin-1", "replace"), safe="/?:@!$&'()*+,;=-._~%[]|^`{}\\\"<>")


def place_of(location: object) -> Place | None:
    """Return a configured place; None where there is none, or none that is known."""
    if location is None:
        return None
    if isinstance(location, str):
        try:
            return find_place(location)
        except ValueError:
            return None  # the config's own rules have said so
    lat, lon = getattr(location, "lat", None), getattr(location, "lon", None)
    return None if lat is None or lon is None else Place(name="", lat=lat, lon=lon)


def _credential(region: Region) -> str | None:
    if region.api_key is not None:
        return region.api_key.get_secret_value()
    if region.api_key_file is None:
        return None
    try:
        return region.api_key_file.read_text().strip() or None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        hint = f"regions[{region.name}].api_key_file"
        raise ConfigError(f"cannot read the credential of region {region.name!r}: {reason}", hint=hint) from None
