"""The contract that every limiter keeps; an implementation elsewhere joins the list."""

from __future__ import annotations

from edgeinf.core.clock import FakeClock
from edgeinf.serve.limits.base import Charge, Limiter
from edgeinf.serve.limits.local import LocalLimiter


async def test_a_limiter_takes_all_or_nothing_and_settles_with_what_was_used() -> None:
    limiter: Limiter = LocalLimiter(FakeClock())
    tokens = Charge(limit="t", kind="tokens", subject="s", capacity=100, period_s=3600, cost=80)
    slot = Charge(limit="c", kind="concurrency", subject="s", capacity=1, period_s=0, cost=1)
    assert (await limiter.take("1", [tokens, slot])).refused is None
    assert (await limiter.take("2", [slot, tokens])).refused == 0
    limiter.settle("1", tokens, 10)
    limiter.settle("1", slot, 0)
    assert (await limiter.take("3", [tokens, slot])).refused is None
    await limiter.aclose()
