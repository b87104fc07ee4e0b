"""Who gets in, and with what."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from edgeinf.core.config.rule import Facts, Finding, Rule
from edgeinf.core.config.rules.access import is_loopback

__all__ = ["RULES"]

_PRIVATE_SUFFIXES = (".local", ".internal", ".lan", ".home.arpa", ".svc", ".cluster.local")


def _near_by(host: str) -> bool:
    """Return whether traffic to ``host`` stays in a private network, as far as its name tells."""
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return is_loopback(host) or "." not in host or host.lower().endswith(_PRIVATE_SUFFIXES)


def _plain_http(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        parts = urlsplit(region.url)
        if parts.scheme.lower() == "http" and not _near_by(parts.hostname or ""):
            yield Finding(
                path=(*path, "url"),
                message=f"the region {region.name!r} is reached over http: prompts and credentials travel in the clear",
                help=f"write https://{region.url.split('://', 1)[1]}, if the origin has it",
            )


def _dashboard(facts: Facts) -> Iterator[Finding]:
    config = facts.config
    if config.dashboard.enabled and not is_loopback(config.listen.host) and config.auth and config.auth.admin is None:
        yield Finding(
            path=("auth",),
            message="the dashboard and purging open only on the server itself: there is no admin key",
            help="add auth.admin: {sha256: …}, or dashboard: {enabled: false}",
            needs=(("listen", "host"), ("dashboard",), ("auth", "admin")),
            at_key=True,
        )


def _expired(facts: Facts) -> Iterator[Finding]:
    for path, key in facts.items("auth", "keys"):
        if key.expires is not None and key.expires < facts.today:
            yield Finding(
                path=(*path, "expires"),
                message=f"the virtual key {key.id!r} expired on {key.expires}",
                help="remove it, or give a later date",
            )


def _passthrough_with_keys(facts: Facts) -> Iterator[Finding]:
    if not (facts.config.auth and facts.config.auth.keys):
        return
    for path, region in facts.items("regions"):
        if region.passthrough and facts.given(path):
            yield Finding(
                path=(*path, "passthrough"),
                message=f"virtual keys never leave this server, so the region {region.name!r} gets no credential",
                help="give the region an api_key",
                needs=(("auth", "keys"),),
            )
    if not facts.given(("regions",)):
        yield Finding(
            path=("auth", "keys"),
            message="virtual keys never leave this server, so OpenAI and Anthropic get no credential",
            help="add regions with an api_key each",
            needs=(("regions",),),
            at_key=True,
        )


def _no_models(facts: Facts) -> Iterator[Finding]:
    for path, key in facts.items("auth", "keys"):
        if key.models == ():
            yield Finding(
                path=(*path, "models"),
                message=f"the virtual key {key.id!r} may use no model",
                help="name some, or remove the line for all",
            )


def _unknown_models(facts: Facts) -> Iterator[Finding]:
    models = facts.names("models")
    if not models:
        return
    known = [name for _, name in models]
    for path, key in facts.items("auth", "keys"):
        for where, name in facts.below(path, key.models or (), "models"):
            if name not in known:
                yield Finding(
                    path=where,
                    message=f"the virtual key {key.id!r} may use {name!r}, which is not among the models",
                    help=f"models: {', '.join(known[:8])}",
                )


def _teamless(facts: Facts) -> Iterator[Finding]:
    if facts.config.cache.scope != "team":
        return
    for path, key in facts.items("auth", "keys"):
        if key.team is None:
            yield Finding(
                path=(*path, "id"),
                message=f"the cache is shared by team and the virtual key {key.id!r} has none: it shares with nobody",
                help="add team: …",
                needs=(("cache", "scope"), (*path, "team")),
            )


def _everybody_trusted(facts: Facts) -> Iterator[Finding]:
    for where, network in facts.items("listen", "trusted_proxies"):
        if network in ("0.0.0.0/0", "::/0"):
            yield Finding(
                path=where,
                message=f"{network} lets every client choose the address it is counted by",
                help="name the proxies' own networks",
            )


RULES = (
    Rule(
        code="W311",
        severity="warning",
        title="http to the outside",
        why="Everybody on the way reads prompts, answers and the credential.",
        example="regions: [{name: a, url: http://api.example.com}]",
        instead="regions: [{name: a, url: https://api.example.com}]",
        check=_plain_http,
    ),
    Rule(
        code="W312",
        severity="warning",
        title="no admin key on a public address",
        why="From afar the dashboard, its JSON, metrics and purging answer 403.",
        example="listen: {host: 10.0.0.5}\nregions: [{name: a, url: https://a.example.com}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        instead="listen: {host: 10.0.0.5}\nregions: [{name: a, url: https://a.example.com}]\n"
        "auth: {admin: {sha256: '${OTHER_SHA256}'}, keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        check=_dashboard,
    ),
    Rule(
        code="W313",
        severity="warning",
        title="a virtual key that has expired",
        why="Its holder is answered 401.",
        example="regions: [{name: a, url: https://a.example.com}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}', expires: '2020-12-31'}]}",
        instead="regions: [{name: a, url: https://a.example.com}]\nauth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        check=_expired,
    ),
    Rule(
        code="W314",
        severity="warning",
        title="virtual keys before a region without a credential",
        why="A virtual key never leaves this server, so the region is asked with no credential at all.",
        example="regions: [{name: a, url: https://a.example.com, passthrough: true}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        instead="regions: [{name: a, url: https://a.example.com, api_key: '${A_KEY}'}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        check=_passthrough_with_keys,
    ),
    Rule(
        code="W315",
        severity="warning",
        title="a virtual key without models",
        why="An empty list allows nothing; a missing one allows all.",
        example="regions: [{name: a, url: https://a.example.com}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}', models: []}]}",
        instead="regions: [{name: a, url: https://a.example.com}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}', models: [gpt-4o]}]}",
        check=_no_models,
    ),
    Rule(
        code="W316",
        severity="warning",
        title="a virtual key for a model that is not listed",
        why="A misspelt name leaves the key's holder with 403.",
        example="regions: [{name: a, url: https://a.example.com}]\nmodels: [{name: bot}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}', models: [bto]}]}",
        instead="regions: [{name: a, url: https://a.example.com}]\nmodels: [{name: bot}]\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}', models: [bot]}]}",
        check=_unknown_models,
    ),
    Rule(
        code="W317",
        severity="warning",
        title="scope team, and a key without one",
        why="Such a key is a scope of its own and shares no answer.",
        example="regions: [{name: a, url: https://a.example.com}]\ncache: {scope: team, max_temperature: 0}\n"
        "auth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        instead="regions: [{name: a, url: https://a.example.com}]\ncache: {scope: team, max_temperature: 0}\n"
        "auth: {keys: [{id: me, team: us, sha256: '${KEY_SHA256}'}]}",
        check=_teamless,
    ),
    Rule(
        code="W318",
        severity="warning",
        title="every client is a trusted proxy",
        why="X-Forwarded-For is then taken from anybody, so limits per ip bind nobody.",
        example="listen: {trusted_proxies: [0.0.0.0/0]}",
        instead="listen: {trusted_proxies: [10.0.0.0/8]}",
        check=_everybody_trusted,
    ),
)
