"""What a config means at run time: one value, made once per load and replaced whole by a reload."""

from __future__ import annotations

import itertools

import msgspec

from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.config.schema import Config, Region
from edgeinf.core.config.schema import Timeouts as Timeouts
from edgeinf.core.errors import ConfigError
from edgeinf.core.key import digest_of
from edgeinf.core.normalize.levels import LEVELS, Level

__all__ = ["Generation", "Origin", "make_generation"]

_numbers = itertools.count(1)


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """A region as the relay uses it. ``base`` has no trailing slash and no ``/v1``."""

    name: str
    base: str
    families: frozenset[str]
    passthrough: bool
    credential: str | None
    headers: tuple[tuple[bytes, bytes], ...]
    timeouts: Timeouts
    completeness: str = "strict"

    def url(self, path: str, query: str) -> str:
        """Return where a request path lives at this origin."""
        return f"{self.base}{path}?{query}" if query else self.base + path


class Generation:
    """One loaded config, ready to serve."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.number = next(_numbers)
        self.origins = tuple(_origin(region) for region in config.regions)
        self.level: Level = LEVELS[config.cache.level]
        self.policy = CachePolicy(
            ttl_s=config.cache.ttl,
            ttl_jitter=config.cache.ttl_jitter,
            max_temperature=config.cache.max_temperature,
            allow=frozenset(config.cache.allow),
        )
        self.forward_headers = tuple(sorted(name.lower().encode() for name in config.cache.forward_headers))
        self._groups: dict[tuple[str, str], str] = {}

    def origins_for(self, family: str, model: str) -> list[Origin]:
        """Return the origins that may serve a call of this family, in the config's order."""
        return [origin for origin in self.origins if family in origin.families]

    def group(self, family: str, model: str) -> str:
        """Return the digest of the origin group: whatever the config adds to a call, but no credential.

        A changed group starts cold: another url, header or model name can change every answer.
        """
        known = self._groups.get((family, model))
        if known is None:
            parts = [
                [origin.base, model, [(n.decode("latin-1"), v.decode("latin-1")) for n, v in origin.headers]]
                for origin in self.origins_for(family, model)
            ]
            known = digest_of(parts)
            if len(self._groups) < 4096:
                self._groups[(family, model)] = known
        return known


def make_generation(config: Config) -> Generation:
    """Return what the config means. Raise ConfigError where a file it names cannot be read."""
    return Generation(config)


def _origin(region: Region) -> Origin:
    base = region.url.rstrip("/")
    return Origin(
        name=region.name,
        base=base.removesuffix("/v1"),
        families=frozenset(region.serves),
        passthrough=region.passthrough,
        credential=_credential(region),
        headers=tuple(
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in sorted(region.headers.items())
        ),
        timeouts=region.timeouts,
        completeness=region.completeness,
    )


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
