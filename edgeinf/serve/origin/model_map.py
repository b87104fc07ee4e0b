"""What a client's model name means in each region: the name there, the adapter, and whose answer may stand in."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from edgeinf.core.config.schema import Adapter, Model
from edgeinf.serve.origin.region import Origin

__all__ = ["ModelMap", "Target"]

_MAX_KNOWN = 4096


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A region, and what a model is called there."""

    origin: Origin
    model: str  # the client's name for what answers: the one asked for, or a fallback's
    sent: str  # what the body says there
    adapter: Adapter | None = None
    fallback: bool = False

    def parts(self) -> list[object]:
        """Return all that may change an answer from here: it enters the key, and holds no credential."""
        adapter = None if self.adapter is None else [self.adapter.name, self.adapter.path]
        headers = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in self.origin.headers]
        return [self.origin.base, self.sent, adapter, headers]


class ModelMap:
    """Targets by family and client name. A name that the config does not know means itself, in every region."""

    def __init__(self, models: Iterable[Model], origins: tuple[Origin, ...]) -> None:
        self._models = {model.name: model for model in models}
        self._origins = origins
        self._known: dict[tuple[str, str], tuple[tuple[Target, ...], ...]] = {}

    def stages(self, family: str, model: str) -> tuple[tuple[Target, ...], ...]:
        """Return the targets of a model, then those of each fallback; what no region serves is left out."""
        known = self._known.get((family, model))
        if known is None:
            config = self._models.get(model)
            names = (model, *config.fallback) if config is not None else (model,)
            made = (self._targets(family, name, fallback=number > 0) for number, name in enumerate(names))
            known = tuple(stage for stage in made if stage)
            if len(self._known) >= _MAX_KNOWN:  # names come from clients, so there may be any number of them
                self._known.clear()
            self._known[(family, model)] = known
        return known

    def adapters(self) -> set[str]:
        """Return the names of all adapters."""
        return {
            model.adapter if isinstance(model.adapter, str) else model.adapter.name
            for model in self._models.values()
            if model.adapter is not None
        }

    def _targets(self, family: str, name: str, *, fallback: bool) -> tuple[Target, ...]:
        model = self._models.get(name)
        targets = []
        for origin in self._origins:
            if family not in origin.families or (model is not None and not _serves(model, origin.name)):
                continue
            adapter = None if model is None or model.adapter is None else _adapter(model.adapter)
            sent = name if model is None else _upstream(model, origin.name)
            sent = adapter.name if adapter is not None else sent
            targets.append(Target(origin=origin, model=name, sent=sent, adapter=adapter, fallback=fallback))
        return tuple(targets)


def _serves(model: Model, region: str) -> bool:
    if model.regions is not None:
        return region in model.regions
    return not isinstance(model.upstream, dict) or region in model.upstream


def _upstream(model: Model, region: str) -> str:
    if isinstance(model.upstream, dict):
        return model.upstream.get(region, model.name)
    return model.upstream or model.name


def _adapter(adapter: str | Adapter) -> Adapter:
    return adapter if isinstance(adapter, Adapter) else Adapter(name=adapter)
