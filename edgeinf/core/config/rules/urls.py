"""Addresses of regions that can only fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]

_ENDPOINT = re.compile(r"/(?:chat/completions|completions|responses|embeddings|rerank|messages|models|moderations)/?\Z")
_LOOPBACK = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "::")


def _doubled_path(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        where = urlsplit(region.url).path
        endpoint = _ENDPOINT.search(where)
        if endpoint is not None:
            right = region.url.rstrip("/").removesuffix(endpoint[0].rstrip("/"))
            yield Finding(
                path=(*path, "url"),
                message=f"the url ends in {endpoint[0]}, which is added to it for each call",
                help=f"write {right}",
            )
        elif re.search(r"(/v\d+)\1(?:/|\Z)", where):
            yield Finding(
                path=(*path, "url"),
                message="the url holds its version twice",
                help="write it once, as in https://api.example.com/v1",
            )


def _itself(facts: Facts) -> Iterator[Finding]:
    listen = facts.config.listen
    for path, region in facts.items("regions"):
        parts = urlsplit(region.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        here = {listen.host.lower()} | (set(_LOOPBACK) if listen.host in _LOOPBACK else set())
        if listen.port != 0 and port == listen.port and (parts.hostname or "") in here:
            yield Finding(
                path=(*path, "url"),
                message=f"the region {region.name!r} is this server itself: calls would go in a circle",
                help="give the origin's address, or another listen.port",
                needs=(("listen", "port"), ("listen", "host")),
            )


RULES = (
    Rule(
        code="E341",
        severity="error",
        title="a path that would be doubled",
        why="The path of each call is added to the url, so every call would be answered 404.",
        example="regions: [{name: a, url: https://api.example.com/v1/chat/completions}]",
        instead="regions: [{name: a, url: https://api.example.com/v1}]",
        check=_doubled_path,
    ),
    Rule(
        code="E342",
        severity="error",
        title="a region that is this server",
        why="Each call would come back as a new one until connections run out.",
        example="regions: [{name: a, url: http://127.0.0.1:8787/v1}]",
        instead="regions: [{name: a, url: http://127.0.0.1:8000/v1}]",
        check=_itself,
    ),
)
