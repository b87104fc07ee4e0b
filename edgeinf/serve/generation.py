"""What a config means at run time: one value, made once per load and replaced whole by a reload."""

from __future__ import annotations

import itertools

from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.config.schema import Config
from edgeinf.core.key import digest_of
from edgeinf.core.normalize.levels import Level, level
from edgeinf.serve.assembly import Assembler
from edgeinf.serve.bearers import Bearers
from edgeinf.serve.context.source import Source
from edgeinf.serve.guard.clients import ClientRules, Networks
from edgeinf.serve.limits.terms import Terms
from edgeinf.serve.origin.model_map import ModelMap, Target
from edgeinf.serve.origin.region import Origin, make_origin, place_of
from edgeinf.serve.price_book import PriceBook
from edgeinf.serve.steps.answer import AnswerRules
from edgeinf.serve.steps.guard import GuardRules

__all__ = ["Generation", "Origin", "make_generation"]

_numbers = itertools.count(1)


# Request headers that reading, keying or a control looks at; an identical request has the same.
_READ_HEADERS = (
    b"openai-beta",
    b"anthropic-beta",
    b"anthropic-version",
    b"cache-control",
    b"content-type",
    b"content-encoding",
    b"x-edgeinf-normalize",
    b"x-edgeinf-ttl",
    b"x-edgeinf-namespace",
    b"x-edgeinf-sample",
)


class Generation:
    """One loaded config, ready to serve."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.number = next(_numbers)
        self.origins = tuple(make_origin(region) for region in config.regions)
        self.place = place_of(config.routing.location)  # where this node stands, for clients that do not say
        located = config.routing.client_location_header
        self.place_header = None if located is None else located.lower().encode()
        self.models = ModelMap(config.models, self.origins)
        self.bearers = Bearers(config.auth.keys) if config.auth is not None and config.auth.keys else None
        self.terms = Terms(config.limits) if config.limits else None
        self.prices = PriceBook(config.prices)
        self.trusted_proxies = Networks(config.listen.trusted_proxies)
        self.clients = ClientRules(config.guard.clients)
        self.guard = GuardRules(config.guard)
        self.assembler = _assembler(config, self.origins)
        self.answer = AnswerRules(config.answer)
        self.level: Level = level(config.cache.level, tuple(config.cache.mask))
        self.policy = CachePolicy(
            ttl_s=config.cache.ttl,
            ttl_jitter=config.cache.ttl_jitter,
            max_temperature=config.cache.max_temperature,
            allow=frozenset(config.cache.allow),
        )
        self.forward_headers = tuple(sorted(name.lower().encode() for name in config.cache.forward_headers))
        self.read_headers = (*_READ_HEADERS, *self.forward_headers)
        self._groups: dict[tuple[str, str], str] = {}
        self._other_names: dict[tuple[str, str], tuple[str, ...]] = {}

    def origins_for(self, family: str, model: str) -> list[Origin]:
        """Return the origins that may serve a call of this family, in the config's order."""
        return [origin for origin in self.origins if family in origin.families]

    def stages(self, family: str, model: str) -> tuple[tuple[Target, ...], ...]:
        """Return where a call may go: the model's own targets, then those of each fallback model."""
        return self.models.stages(family, model)

    def other_names(self, family: str, model: str) -> tuple[str, ...]:
        """Return what else a model is called by its own regions. What fallback models say is never stored."""
        known = self._other_names.get((family, model))
        if known is None:
            own = [stage for stage in self.stages(family, model)[:1] if not stage[0].fallback]
            known = tuple(sorted({target.sent for stage in own for target in stage} - {model}))
            if len(self._other_names) < 4096:
                self._other_names[(family, model)] = known
        return known

    def group(self, family: str, model: str) -> str:
        """Return the digest of the origin group: whatever the config adds to a call, but no credential.

        A changed group starts cold: another url, header, model name or adapter can change every answer. Fallback
        models are left out, since their answers are never stored.
        """
        known = self._groups.get((family, model))
        if known is None:
            own = [stage for stage in self.stages(family, model)[:1] if not stage[0].fallback]
            known = digest_of([target.parts() for stage in own for target in stage])
            if len(self._groups) < 4096:
                self._groups[(family, model)] = known
        return known


def _assembler(config: Config, origins: tuple[Origin, ...]) -> Assembler | None:
    """Return the prompt rules of a config, their documents indexed; None where it has none. Raise ConfigError."""
    if not config.prompt:
        return None
    cache = config.cache.disk.path if config.cache.disk is not None else None
    sources = [None if rule.context is None else Source(rule.context, cache, origins) for rule in config.prompt]
    return Assembler(config.prompt, sources)


def make_generation(config: Config) -> Generation:
    """Return what the config means. Raise ConfigError where a file it names cannot be read."""
    return Generation(config)
