"""Credentials where others can read them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urlsplit

from edgeinf.core.config.diagnostic import dotted
from edgeinf.core.config.rule import Facts, Finding, Rule
from edgeinf.core.redact import looks_like_secret

__all__ = ["RULES"]

_SECRET_KEYS = ("api_key", "key_secret")
_HEADERS = ("authorization", "proxy-authorization", "x-api-key", "api-key", "cookie")


def _random(text: str) -> bool:
    """Return whether a word has the length and the mix of a generated credential."""
    if len(text) < 32 or not text.replace("-", "").replace("_", "").isalnum() or text.isdigit():
        return False
    counts = Counter(text)
    entropy = -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())
    return entropy > 4.2 and any(c.isdigit() for c in text) and any(c.isupper() for c in text)


def _in_the_clear(facts: Facts) -> Iterator[Finding]:
    for path, value in facts.texts():
        key = str(path[-1]).lower()
        named = key in _SECRET_KEYS or (len(path) > 1 and path[-2] == "headers" and key in _HEADERS)
        if not (named or looks_like_secret(value) or (key != "sha256" and _random(value))):
            continue
        if path not in facts.touched and path not in facts.origins:
            yield Finding(
                path=path,
                message=f"{dotted(path)} holds a credential in the clear",
                help="name a variable (${API_KEY}) or a file (api_key_file), and replace the credential",
            )


def _in_a_url(facts: Facts) -> Iterator[Finding]:
    for path, value in facts.texts():
        if "://" in value and path not in facts.touched and path not in facts.origins:
            try:
                password = urlsplit(value).password
            except ValueError:
                continue
            if password:
                yield Finding(
                    path=path,
                    message=f"{dotted(path)} holds a password in its address",
                    help='put the address in a variable: url: "${REDIS_URL}"',
                )


def _bodies(facts: Facts) -> Iterator[Finding]:
    if facts.config.events.bodies and not facts.config.guard.redact:
        yield Finding(
            path=("events", "bodies"),
            message="prompts and answers are written to the event log as they are",
            help="leave bodies out (analyze needs only the keys), or set guard.redact",
            needs=(("guard", "redact"),),
        )


RULES = (
    Rule(
        code="W301",
        severity="warning",
        title="a credential in the clear",
        why="A config is copied, committed and shared; whoever sees it can spend the credential.",
        example="regions: [{name: a, url: https://a.example.com, api_key: not-a-real-key}]",
        instead="regions: [{name: a, url: https://a.example.com, api_key: '${A_KEY}'}]",
        check=_in_the_clear,
    ),
    Rule(
        code="W302",
        severity="warning",
        title="a password in an address",
        why="Addresses appear in logs and error messages.",
        example="limits_shared: {url: 'redis://me:not-real@10.0.0.5:6379/1'}",
        instead="limits_shared: {url: '${REDIS_URL:-redis://10.0.0.5:6379/1}'}",
        check=_in_a_url,
    ),
    Rule(
        code="W303",
        severity="warning",
        title="prompts in the event log",
        why="People write names, addresses and secrets into prompts; a log outlives its purpose.",
        example="events: {bodies: true}",
        instead="events: {bodies: true}\nguard: {redact: [email, phone, credit-card, secrets]}",
        check=_bodies,
    ),
)
