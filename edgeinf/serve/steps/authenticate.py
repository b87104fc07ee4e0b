"""Who is asking, and with whom may answers be shared? Checked for every request, before any answer is looked for."""

from __future__ import annotations

import hashlib

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.core.key import Scope
from edgeinf.serve.bearers import Bearer, Bearers, presented
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.generation import Generation

__all__ = ["authenticate", "credential_digest", "narrow_to_user", "permit_model"]

# What a client's own credential consists of: with a key, an organisation or project decides who pays and may ask.
_PARTS = (b"authorization", b"x-api-key", b"api-key", b"openai-organization", b"openai-project")


def credential_digest(headers: dict[bytes, bytes]) -> str:
    """Return a digest of the client's own credential; empty if it sent none."""
    parts = [(name, headers[name]) for name in _PARTS if name in headers]
    if not parts:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in parts:
        digest.update(b"%b %d %b\n" % (name, len(value), value))
    return digest.hexdigest()


def authenticate(x: Exchange, generation: Generation, now: float) -> None:
    """Set who asks and the scope. Raise CallError 401.

    Without virtual keys the client's own credential is the scope: the origin judges it. A virtual key is taken out of
    the request here, so that no later step can send it on.
    """
    bearers = generation.bearers
    if bearers is None:
        x.credential = credential_digest(x.headers)
        x.scope = Scope("key", x.credential)
        return
    bearer = _known(x, bearers, now)
    for name in _PARTS:
        x.headers.pop(name, None)
    x.virtual_key = bearer
    x.key_id, x.team, x.user = bearer.id, bearer.team, bearer.user
    x.scope = _scope(bearer, generation.config.cache.scope)


def narrow_to_user(x: Exchange) -> str | None:
    """Narrow scope ``user`` to the end user that the body names, else the key; return why there is none."""
    if x.scope.kind != "user":
        return None
    assert x.call is not None
    user = x.call.user or x.user
    if user is None:
        return "no-user"
    x.scope = Scope("user", msgspec.json.encode([x.scope.id, user]).decode())
    return None


def permit_model(x: Exchange, model: str) -> None:
    """Raise CallError 403 where the key may not use a model."""
    bearer = x.virtual_key
    if bearer is None or bearer.models is None or model in bearer.models:
        return
    allowed = ", ".join(sorted(bearer.models)[:8]) or "none"
    raise CallError(
        f"the key {bearer.id!r} may not use the model {model[:200]!r}",
        status=403,
        code="model_not_allowed",
        param="model",
        hint=f"it may use: {allowed}",
    )


def _known(x: Exchange, bearers: Bearers, now: float) -> Bearer:
    credentials = presented(x.headers)
    if not credentials:
        hint = "send a key of this server as Authorization: Bearer or x-api-key"
        raise _refused("no credential was sent", "missing_api_key", hint)
    found = [bearer for bearer in map(bearers.find, credentials) if bearer is not None]
    for bearer in found:
        if bearer.expires_at is None or now < bearer.expires_at:
            return bearer
    if found:
        x.key_id = found[0].id
        raise _refused(f"the key {found[0].id!r} has expired", "expired_api_key", "edgeinf keys new makes another")
    raise _refused("the credential is none of this server's keys", "invalid_api_key", None)


def _refused(message: str, code: str, hint: str | None) -> CallError:
    return CallError(message, status=401, code=code, hint=hint, headers=(("www-authenticate", "Bearer"),))


def _scope(bearer: Bearer, configured: str) -> Scope:
    """Return the widest circle in which answers may be shared. The prefix keeps ids apart from credentials' digests."""
    if configured == "shared":
        return Scope("shared")
    if configured == "team" and bearer.team is not None:
        return Scope("team", f"team:{bearer.team}")
    # Under ``team`` a key without a team is on its own; under ``user`` the body narrows this further.
    return Scope("user" if configured == "user" else "key", f"key:{bearer.id}")
