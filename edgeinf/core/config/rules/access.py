"""Who may reach this server, and whose credential goes where."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES", "is_loopback"]


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches ``host``."""
    if host.rstrip(".").lower() == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _public_bind(facts: Facts) -> Iterator[Finding]:
    host = facts.config.listen.host
    keys = facts.names("auth", "keys", key="id")
    if facts.insecure or is_loopback(host) or keys is None or keys:
        return
    yield Finding(
        path=("listen", "host"),
        message=f"listening on {host} without auth lets everybody who reaches it spend your tokens",
        help="add auth.keys (edgeinf keys new), listen on 127.0.0.1, or start serve with --insecure",
        needs=(("auth",),),
    )


def _wide_scope(facts: Facts) -> Iterator[Finding]:
    scope = facts.config.cache.scope
    keys = facts.names("auth", "keys", key="id")
    if scope != "key" and keys == []:
        yield Finding(
            path=("cache", "scope"),
            message=f"cache.scope {scope} needs auth: without it nobody knows who asks",
            help="leave it at key, or add auth.keys",
            needs=(("auth",),),
        )


def _two_credentials(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        set_: list[KeyPath] = [(*path, k) for k in ("api_key", "api_key_file") if getattr(region, k) is not None]
        if region.passthrough and facts.given((*path, "passthrough")):
            set_.append((*path, "passthrough"))
        if len(set_) > 1:
            names = " and ".join(str(p[-1]) for p in set_)
            yield Finding(
                path=set_[-1],
                message=f"the region {region.name!r} has {names}: only one credential can be sent",
                help="keep one of api_key, api_key_file, passthrough",
                related=(("the first is here", set_[0]),),
                at_key=True,
            )


def _same_hash(facts: Facts) -> Iterator[Finding]:
    seen: dict[str, KeyPath] = {}
    for path, key in facts.items("auth", "keys"):
        here = (*path, "sha256")
        if not facts.certain(here):
            continue
        hashed = key.sha256.lower()
        if hashed in seen:
            yield Finding(
                path=here,
                message=f"the virtual key {key.id!r} is the same as an earlier one",
                help="make another with edgeinf keys new",
                related=(("first used here", seen[hashed]),),
            )
        seen.setdefault(hashed, here)


RULES = (
    Rule(
        code="E311",
        severity="error",
        title="a public address without auth",
        why="Whoever reaches the port can spend the credentials of every region.",
        example="listen: {host: 0.0.0.0}",
        instead="listen: {host: 0.0.0.0}\nauth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        check=_public_bind,
    ),
    Rule(
        code="E312",
        severity="error",
        title="a cache scope wider than auth",
        why="Without auth the client's own credential is the scope; a wider one would hand paid answers to strangers.",
        example="cache: {scope: shared}",
        instead="cache: {scope: shared}\nauth: {keys: [{id: me, sha256: '${KEY_SHA256}'}]}",
        check=_wide_scope,
    ),
    Rule(
        code="E313",
        severity="error",
        title="a region with two credentials",
        why="Only one can be sent, and which one would be a guess.",
        example="regions: [{name: a, url: https://a.example.com, api_key: '${A_KEY}', passthrough: true}]",
        instead="regions: [{name: a, url: https://a.example.com, api_key: '${A_KEY}'}]",
        check=_two_credentials,
    ),
    Rule(
        code="E314",
        severity="error",
        title="two virtual keys with one hash",
        why="A key is found by its hash: the second entry's team, models and limits would never hold.",
        example="auth: {keys: [{id: a, sha256: '${KEY_SHA256}'}, {id: b, sha256: '${KEY_SHA256}'}]}",
        instead="auth: {keys: [{id: a, sha256: '${KEY_SHA256}'}, {id: b, sha256: '${OTHER_SHA256}'}]}",
        check=_same_hash,
    ),
)
