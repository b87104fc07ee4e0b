"""Addresses that work, but not as they look."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from edgeinf.core.config.diagnostic import KeyPath
from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _trailing_slash(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        if region.url.endswith("/") and urlsplit(region.url).path != "/":
            yield Finding(
                path=(*path, "url"),
                message="the url ends in a slash, which is dropped",
                help=f"write {region.url.rstrip('/')}",
            )


def _twice(facts: Facts) -> Iterator[Finding]:
    seen: dict[object, tuple[KeyPath, set[str]]] = {}
    for path, region in facts.items("regions"):
        here = (*path, "url")
        address = region.url.rstrip("/").removesuffix("/v1").lower()
        same = (address, region.api_key, region.api_key_file, tuple(sorted(region.headers.items())))
        first, families = seen.setdefault(same, (here, set()))
        if families & set(region.serves):
            yield Finding(
                path=here,
                message=f"the region {region.name!r} is an earlier one again: failing over to it changes nothing",
                help="remove one of them",
                related=(("the same url is here", first),),
                needs=(first, (*path, "api_key"), (*path, "api_key_file")),
            )
        families.update(region.serves)


def _health_path(facts: Facts) -> Iterator[Finding]:
    active = facts.config.routing.health.active
    if active is None:
        return
    if not active.path.startswith("/"):
        yield Finding(
            path=("routing", "health", "active", "path"),
            message=f"{active.path!r} does not start with a slash",
            help=f"write /{active.path}",
        )
    version = re.match(r"/v\d+/", active.path)
    for path, region in facts.items("regions"):
        if version is not None and region.url.rstrip("/").endswith(version[0].rstrip("/")):
            yield Finding(
                path=("routing", "health", "active", "path"),
                message=f"{active.path} is added to {region.url}, which has the version already",
                help=f"write {active.path.removeprefix(version[0][:-1])}",
                related=(("the url is here", (*path, "url")),),
                needs=((*path, "url"),),
            )
            return


def _plain_http2(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        if region.http2 and urlsplit(region.url).scheme.lower() == "http":
            yield Finding(
                path=(*path, "http2"),
                message="http2 has no effect on an http:// url: the two ends agree on it in the TLS handshake",
                help="write an https:// url, or remove http2",
                related=(("the url is here", (*path, "url")),),
                needs=((*path, "url"),),
                at_key=True,
            )


RULES = (
    Rule(
        code="W341",
        severity="warning",
        title="a trailing slash",
        why="It is dropped; tools that join addresses themselves would double it.",
        example="regions: [{name: a, url: https://a.example.com/v1/}]",
        instead="regions: [{name: a, url: https://a.example.com/v1}]",
        check=_trailing_slash,
    ),
    Rule(
        code="W342",
        severity="warning",
        title="two regions at one address",
        why="When the first fails, so does the second.",
        example="regions: [{name: a, url: https://a.example.com/v1}, {name: b, url: https://a.example.com}]",
        instead="regions: [{name: a, url: https://a.example.com/v1}, {name: b, url: https://b.example.com}]",
        check=_twice,
    ),
    Rule(
        code="W343",
        severity="warning",
        title="a health path that is not where it looks",
        why="A path that is not there answers 404, and a well region counts as down.",
        example="regions: [{name: a, url: https://a.example.com/v1}]\nrouting: {health: {active: {path: /v1/models}}}",
        instead="regions: [{name: a, url: https://a.example.com/v1}]\nrouting: {health: {active: {path: /models}}}",
        check=_health_path,
    ),
    Rule(
        code="W344",
        severity="warning",
        title="HTTP/2 without TLS",
        why="It is offered in the TLS handshake; where there is none, calls go over HTTP/1.1.",
        example="regions: [{name: a, url: http://127.0.0.1:8000/v1, http2: true}]",
        instead="regions: [{name: a, url: https://a.example.com/v1, http2: true}]",
        check=_plain_http2,
    ),
)
