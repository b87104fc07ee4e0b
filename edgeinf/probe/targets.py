"""Who is measured: from the command line, from a config, from the built-in lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from edgeinf.core.errors import UsageError
from edgeinf.core.places import places
from edgeinf.probe.address import origin_of, parse_url
from edgeinf.probe.catalogue import expand
from edgeinf.probe.request import DIALECTS
from edgeinf.probe.values import Target

if TYPE_CHECKING:
    from edgeinf.core.config.schema import Config, Region

__all__ = ["from_arguments", "from_config", "key_variables", "location_of", "unique"]


def from_arguments(
    words: Sequence[str], *, dialect: str | None, model: str, keys: Sequence[str], environment: Mapping[str, str]
) -> list[Target]:
    """Return the targets that the arguments name: ``URL``, ``NAME=URL``, a list or an API.

    A key goes only where it was meant to: ``NAME`` alone needs all targets to be one origin, else ``TARGET=NAME``.
    """
    found: list[Target] = []
    for word in words:
        name, url = _named(word)
        entries = [(name, url, location_of(url))] if url else [(e.name, e.url, e.location) for e in expand(word)]
        for name, url, location in entries:
            kind = DIALECTS[dialect][0] if dialect else _usual_dialect(url)
            found.append(Target(name=name, url=url.rstrip("/"), dialect=kind, model=model, location=location))
    return _with_keys(unique(found), keys, environment)


def _named(word: str) -> tuple[str, str]:
    """Return (name, url), with an empty url where the word names something built in."""
    name, equals, url = word.partition("=")
    if equals and "://" not in name:
        if not re.fullmatch(r"[\w.:-]+", name):
            raise UsageError(f"{name!r} is not a name for a target", hint="letters, digits, and . : - _")
        parse_url(url)
        return name, url
    if "://" in word:
        return parse_url(word).authority, word
    return word, ""


def _usual_dialect(url: str) -> str:
    return "anthropic-messages" if parse_url(url).host.endswith("anthropic.com") else "openai-chat"


def location_of(url: str) -> str | None:
    """Return the cloud region that a host name carries, as in ``bedrock-runtime.us-east-1.amazonaws.com``."""
    host = parse_url(url).host
    found = [name for name in places() if re.search(rf"(?:^|[.-]){re.escape(name)}(?:[.-]|$)", host)]
    return max(found, key=len, default=None)


def _with_keys(targets: list[Target], keys: Sequence[str], environment: Mapping[str, str]) -> list[Target]:
    bound: dict[str, str] = {}
    for word in keys:
        name, equals, variable = word.partition("=")
        if equals and name not in {t.name for t in targets}:
            raise UsageError(f"--key-env names {name!r}, which is not measured", hint=_names(targets))
        if not equals:
            origins = {origin_of(t.url) for t in targets}
            if len(origins) > 1:
                raise UsageError(
                    f"{word} would go to {len(origins)} hosts: {', '.join(sorted(origins))}",
                    hint=f"say for which: --key-env {targets[0].name}={word}",
                )
        variable = variable if equals else word
        key = environment.get(variable, "").strip()
        if not key:
            raise UsageError(f"the environment variable {variable} is not set (--key-env)")
        if not key.isprintable() or not key.isascii():
            raise UsageError(f"what the environment variable {variable} holds cannot be a key: it is no plain text")
        bound.update({name: variable} if equals else {t.name: variable for t in targets})
    return [
        Target(**{**_fields(t), "key_env": bound[t.name], "key": environment[bound[t.name]].strip()})
        if t.name in bound
        else t
        for t in targets
    ]


def _fields(target: Target) -> dict[str, Any]:
    return {field: getattr(target, field) for field in target.__struct_fields__}


def _names(targets: Sequence[Target]) -> str:
    return f"one of: {', '.join(t.name for t in targets)}"


def unique(targets: Sequence[Target]) -> list[Target]:
    """Give targets of one name numbers, so that each figure belongs to one of them."""
    seen: dict[str, int] = {}
    out = []
    for target in targets:
        seen[target.name] = seen.get(target.name, 0) + 1
        count = seen[target.name]
        out.append(target if count == 1 else Target(**{**_fields(target), "name": f"{target.name}-{count}"}))
    return out


def from_config(
    config: Config, *, dialect: str | None, model: str, variables: Mapping[str, str] | None = None
) -> list[Target]:
    """Return the regions of a config as targets, each with its own credential; ``variables`` hold their keys."""
    return [
        Target(
            name=region.name,
            url=region.url.rstrip("/"),
            dialect=DIALECTS[dialect][0] if dialect else _served(region),
            model=_upstream(config, region, model),
            key=_key(region),
            key_env=(variables or {}).get(region.name),
            headers=tuple(region.headers.items()),
            location=region.location if isinstance(region.location, str) else None,
            key_file=str(region.api_key_file) if region.api_key_file else None,
            serves=tuple(region.serves),
        )
        for region in config.regions
        if set(region.serves) & {"openai", "anthropic"}
    ]


def _served(region: Region) -> str:
    return "openai-chat" if "openai" in region.serves else "anthropic-messages"


def _key(region: Region) -> str | None:
    if region.api_key is not None:
        return region.api_key.get_secret_value()
    if region.api_key_file is not None:
        try:
            return region.api_key_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UsageError(f"the key file of {region.name} cannot be read: {error.strerror}") from None
    return None


def _upstream(config: Config, region: Region, model: str) -> str:
    """Return what a region calls a model; without one, the only model that the config says it serves."""
    serving = [m for m in config.models if m.regions is None or region.name in m.regions]
    chosen = [m for m in serving if m.name == model] if model else serving if len(serving) == 1 else []
    for entry in chosen:
        if isinstance(entry.upstream, str):
            return entry.upstream
        if isinstance(entry.upstream, Mapping) and region.name in entry.upstream:
            return entry.upstream[region.name]
        return entry.name
    return model


def key_variables(text: bytes) -> dict[str, str]:
    """Return the environment variable that holds the key of each region of a config file, by the region's name."""
    from edgeinf.core.config.source import read_source

    source = read_source(text, "config")
    out = {}
    for number, region in enumerate(source.tree.get("regions") or ()):
        written = source.raws.get(("regions", number, "api_key"))
        found = re.fullmatch(r"\$\{(\w+)[^}]*\}", written.text.strip("\"'")) if written else None
        if found and isinstance(region, Mapping):
            out[str(region.get("name"))] = found[1]
    return out
