"""LoRA adapters: is it in the region, and if not, can it be put there? Asked once, and again after a 404.

vLLM lists loaded adapters among ``/v1/models`` and loads one by ``POST /v1/load_lora_adapter`` where it was started
with ``VLLM_ALLOW_RUNTIME_LORA_UPDATING``. Only an adapter whose config names a ``path`` is ever loaded.
"""

from __future__ import annotations

import asyncio

import msgspec

from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.client import Client, OriginFailure
from edgeinf.serve.origin.model_map import Target
from edgeinf.serve.origin.regions import Adapted, RegionState
from edgeinf.serve.origin.upkeep import fetch, own_headers

__all__ = ["ensure", "forget"]

# How long a region without the adapter is passed over before it is asked again.
_ABSENT_S = 30.0


class _Listed(msgspec.Struct):
    id: str = ""


class _Models(msgspec.Struct):
    data: list[_Listed] = []


async def ensure(client: Client, target: Target, state: RegionState, account: Headers, now: float) -> str | None:
    """Return why a target's adapter cannot be used there, None if it can. ``account`` are the credential headers.

    A region that does not say what it has is believed to have it: the call itself will tell.
    """
    if target.adapter is None:
        return None
    name = target.adapter.name
    known = state.adapters.get(name)
    if known is not None and (known.loaded or now < known.until):
        return known.why
    lock = state.adapter_locks.setdefault(name, asyncio.Lock())
    async with lock:
        known = state.adapters.get(name)
        if known is not None and (known.loaded or now < known.until):
            return known.why
        why = await _ask(client, target, account)
        state.adapters[name] = Adapted(loaded=why is None, until=now + _ABSENT_S, why=why)
        return why


def forget(target: Target, state: RegionState) -> None:
    """The region said that it does not know the model: it may have been restarted, so ask anew."""
    if target.adapter is not None:
        state.adapters.pop(target.adapter.name, None)


async def _ask(client: Client, target: Target, account: Headers) -> str | None:
    assert target.adapter is not None
    origin, name = target.origin, target.adapter.name
    headers = [*own_headers(origin), *account]
    try:
        url = origin.url("/v1/models", "")
        status, body = await fetch(client, url, headers, origin.timeouts.connect, http2=origin.http2)
        listed = msgspec.json.decode(body, type=_Models) if status == 200 else None
    except (OriginFailure, TimeoutError, msgspec.DecodeError):
        return None
    if listed is None or any(model.id == name for model in listed.data):
        return None
    if target.adapter.path is None:
        return f"the adapter {name!r} is not loaded there, and the config names no path to load it from"
    wanted = msgspec.json.encode({"lora_name": name, "lora_path": target.adapter.path})
    headers = [*headers, (b"content-type", b"application/json")]
    url = origin.url("/v1/load_lora_adapter", "")
    try:
        status, body = await fetch(
            client, url, headers, origin.timeouts.connect, method="POST", body=wanted, http2=origin.http2
        )
    except (OriginFailure, TimeoutError) as error:
        return f"the adapter {name!r} could not be loaded: {error or 'it took too long'}"
    if status == 200 or b"already" in body:
        return None
    return f"the adapter {name!r} could not be loaded: the region answered {status}"
