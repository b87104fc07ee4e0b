"""GETs that no dialect claims: kept as the origin's HTTP caching headers allow, the list of models for a minute.

What is kept is kept per credential, so this is a private cache in the words of RFC 9111. What clients poll is never
kept, whatever its headers say.
"""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

import msgspec

from edgeinf.core.key import Key, form_of, make_key
from edgeinf.core.wire.headers import Headers, get
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.controls import read_controls
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.responses import cache_headers
from edgeinf.serve.runtime import Runtime

__all__ = ["KeptGet", "life_s"]

_MODELS = "/v1/models"
_MODELS_S = 60.0
_LIMIT = 2**20

# What changes while a client waits for it.
_POLLED = (
    *("responses", "batches", "fine_tuning", "fine-tunes", "videos", "threads", "vector_stores", "uploads", "evals"),
    *("conversations", "containers", "messages", "jobs", "assistants", "realtime", "chat", "organization"),
)
# Request headers that reach the origin and may choose among answers; an answer that varies by others is not kept.
_KEYED = (b"accept", b"accept-language", b"openai-beta", b"anthropic-beta", b"anthropic-version")
_HARMLESS = {"accept-encoding", "authorization", "x-api-key", "origin", "openai-organization", "openai-project"}
_CONDITIONS = (b"range", b"if-none-match", b"if-modified-since", b"if-match", b"if-unmodified-since", b"if-range")
_KEPT = ("etag", "last-modified", "cache-control", "content-language", "content-disposition", "vary")


class KeptGet:
    """One GET on its way: looked for, and kept if its answer may be."""

    def __init__(self, x: Exchange, runtime: Runtime, origin: Origin) -> None:
        self._x, self._runtime, self._origin = x, runtime, origin
        self._key = self._make_key()
        self._life_s = 0.0
        self._entry: Entry | None = None
        self._parts: list[bytes] = []
        self._size = 0

    async def answer(self) -> bool:
        """Answer from what is kept; False where nothing is. Raise CallError 400 on a control that means nothing."""
        x, runtime = self._x, self._runtime
        if self._key is None:
            return False
        x.controls = read_controls(x.headers)
        x.keys = [self._key]
        if x.controls.no_cache:
            return False
        found = await runtime.tiers.get(self._key)
        now = runtime.clock.now()
        if found is None or not found.entry.fresh_at(now):
            return False
        entry, age_s = found.entry, now - found.entry.stored_at
        if x.controls.max_age_s is not None and age_s > x.controls.max_age_s:
            return False
        x.cache, x.tier, x.reason, x.hits = "hit", found.tier, None, 1
        x.entry_age_s, x.region, x.attempts = max(0.0, age_s), entry.region, 0
        kept: Headers = [(n.encode("latin-1"), v.encode("latin-1", "replace")) for n, v in entry.headers]
        content_type = (b"content-type", entry.content_type.encode("latin-1", "replace"))
        own = cache_headers(x, ttl_s=entry.stored_at + entry.ttl_s - now)
        await x.answer(200, [content_type, *kept, *own], entry.body)
        return True

    def begin(self, status: int, headers: Headers) -> None:
        """Look at the head of the origin's answer."""
        x = self._x
        if self._key is None or x.controls.no_store or status != 200 or get(headers, b"content-encoding") is not None:
            return
        self._life_s = min(life_s(x.path, headers, self._runtime.clock.now()), self._runtime.generation.policy.ttl_s)
        if self._life_s <= 0:
            return
        x.cache, x.reason = "miss", None
        text = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        self._entry = Entry(
            trust=self._key.trust,
            stored_at=self._runtime.clock.now(),
            ttl_s=self._life_s,
            stream=False,
            content_type=text.get("content-type", "application/octet-stream"),
            dialect="opaque",
            path=x.path,
            region=self._origin.name,
            headers=[(name, text[name]) for name in _KEPT if name in text],
        )

    def feed(self, chunk: bytes) -> None:
        """Take note of a part of the answer."""
        if self._entry is None:
            return
        self._parts.append(chunk)
        self._size += len(chunk)
        if self._size > _LIMIT:
            self._entry = None
            self._parts.clear()

    def end(self, *, proven: bool) -> None:
        """Keep the answer; ``proven`` says that its end was announced, so that it cannot have been cut short."""
        if self._entry is not None and self._key is not None and proven:
            self._runtime.tiers.put(self._key, msgspec.structs.replace(self._entry, body=b"".join(self._parts)))
            self._x.stored = True

    def _make_key(self) -> Key | None:
        x = self._x
        if x.method != "GET" or any(name in x.headers for name in _CONDITIONS) or _polled(x.path):
            return None
        origin = self._origin
        account = origin.account(x.credential)
        headers = [(name.decode(), x.headers[name].decode("latin-1")) for name in _KEYED if name in x.headers]
        own = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in origin.headers]
        name = msgspec.json.encode([x.path, x.query, origin.base, account, headers, own])
        return make_key(form_of(b'["get"]\n', name), x.scope, self._runtime.seed)


def life_s(path: str, headers: Headers, now: float | None = None) -> float:
    """Return how long an answer to a GET may be kept, by its headers; 0 where it may not."""
    if path == _MODELS:
        return _MODELS_S
    vary = {
        name.strip().lower() for name in (get(headers, b"vary") or b"").decode("latin-1").split(",") if name.strip()
    }
    if vary - _HARMLESS - {name.decode() for name in _KEYED}:
        return 0.0
    said = (get(headers, b"cache-control") or b"").decode("latin-1").lower()
    directives = {name.strip(): value.strip(' "') for name, _, value in (d.partition("=") for d in said.split(","))}
    if "no-store" in directives or "no-cache" in directives:
        return 0.0
    age = _number((get(headers, b"age") or b"0").decode("latin-1"))
    if "max-age" in directives:
        return max(0.0, _number(directives["max-age"]) - age)
    expires = get(headers, b"expires")
    if expires is None:
        return 0.0
    try:
        ends = parsedate_to_datetime(expires.decode("latin-1")).timestamp()
    except (ValueError, TypeError):
        return 0.0
    return max(0.0, ends - (time.time() if now is None else now))


def _number(text: str) -> float:
    return float(text) if text.isdigit() and len(text) < 12 else 0.0


def _polled(path: str) -> bool:
    parts = path.split("/")
    return len(parts) > 2 and (parts[2] in _POLLED or "jobs" in parts)
