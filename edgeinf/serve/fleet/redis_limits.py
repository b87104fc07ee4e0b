"""One limiter for many nodes: the arithmetic of :mod:`edgeinf.serve.limits` as one atomic script, on Redis's clock.

While Redis cannot be asked, each node holds every limit at its share: the capacity over the nodes last seen. Slots are
lent for a time and renewed, so that those of a node that dies come back by themselves.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.clock import Clock
from edgeinf.serve.fleet.redis_link import RedisDown, RedisLink
from edgeinf.serve.fleet.remote_limits import Remembered, take_safely
from edgeinf.serve.limits.base import Charge, Level, Limiter, Taken

__all__ = ["RedisLimiter"]

_log = logging.getLogger("edgeinf.limits")

# How long a slot is lent, and how often those in use are renewed.
_LEASE_S = 30.0
_RENEW_S = 10.0
# A node that has not been heard of for this long is not counted among those that share.
_NODE_S = 30.0
_TRIES = 5
# The tag keeps every counter in one slot of a cluster: a script may only touch one.
_PREFIX = "{edgeinf}:l:"
_NODES = "{edgeinf}:nodes"

# KEYS: one per charge. ARGV: call id, lease in seconds, then per charge: kind, capacity, period, cost.
# Returns: the number of the charge that does not fit (0: all were taken), when it would, then used and reset of each.
_TAKE = """
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local call, lease = ARGV[1], tonumber(ARGV[2])
local out, state = {}, {}
local refused, wait = 0, 0
for i, key in ipairs(KEYS) do
  local at = 3 + (i - 1) * 4
  local kind, capacity, period, cost = ARGV[at], tonumber(ARGV[at+1]), tonumber(ARGV[at+2]), tonumber(ARGV[at+3])
  local over = 0
  if kind == 'concurrency' then
    redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
    redis.call('ZREM', key, call)
    state[i] = redis.call('ZCARD', key)
    if state[i] + cost > capacity then over = 1 end
  elseif kind == 'budget' then
    key = key .. ':' .. math.floor(now / period)
    state[i] = tonumber(redis.call('GET', key) or '0')
    if state[i] + cost > capacity * (1 + 1e-9) or state[i] >= capacity then over = period - now % period end
  else
    state[i] = tonumber(redis.call('GET', key) or '0')
    if state[i] < now then state[i] = now end
    over = state[i] + cost * period / capacity - now - period
    if over <= period * 1e-6 then over = 0 end
  end
  if over > 0 and refused == 0 then
    refused = i
    wait = (cost > capacity and kind ~= 'budget') and -1 or over
  end
end
for i, key in ipairs(KEYS) do
  local at = 3 + (i - 1) * 4
  local kind, capacity, period, cost = ARGV[at], tonumber(ARGV[at+1]), tonumber(ARGV[at+2]), tonumber(ARGV[at+3])
  if kind == 'concurrency' then
    if refused == 0 then
      redis.call('ZADD', key, now + lease, call)
      redis.call('PEXPIRE', key, math.ceil(lease * 1000))
      state[i] = state[i] + 1
    end
    table.insert(out, string.format('%.17g', state[i]))
    table.insert(out, '0')
  elseif kind == 'budget' then
    if refused == 0 then
      state[i] = state[i] + cost
      local name = key .. ':' .. math.floor(now / period)
      redis.call('SET', name, string.format('%.17g', state[i]), 'PX', math.ceil((period - now % period) * 1000) + 60000)
    end
    table.insert(out, string.format('%.17g', state[i]))
    table.insert(out, string.format('%.17g', period - now % period))
  else
    if refused == 0 then
      state[i] = state[i] + cost * period / capacity
      redis.call('SET', key, string.format('%.17g', state[i]), 'PX', math.ceil((state[i] - now) * 1000) + 1000)
    end
    table.insert(out, string.format('%.17g', (state[i] - now) / period * capacity))
    table.insert(out, string.format('%.17g', state[i] - now))
  end
end
table.insert(out, 1, string.format('%.17g', wait))
table.insert(out, 1, tostring(refused))
return out
"""

# KEYS: one. ARGV: call id, kind, capacity, period, cost that was taken, what was used.
_SETTLE = """
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local kind, capacity, period = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local cost, actual = tonumber(ARGV[5]), tonumber(ARGV[6])
local key = KEYS[1]
if kind == 'concurrency' then
  redis.call('ZREM', key, ARGV[1])
elseif kind == 'budget' then
  key = key .. ':' .. math.floor(now / period)
  local spent = tonumber(redis.call('GET', key) or '0') + actual - cost
  if spent < 0 then spent = 0 end
  redis.call('SET', key, string.format('%.17g', spent), 'PX', math.ceil((period - now % period) * 1000) + 60000)
elseif actual ~= cost then
  local tat = tonumber(redis.call('GET', key) or '0')
  if tat < now then tat = now end
  tat = tat + (actual - cost) * period / capacity
  if tat <= now then
    redis.call('DEL', key)
  else
    redis.call('SET', key, string.format('%.17g', tat), 'PX', math.ceil((tat - now) * 1000) + 1000)
  end
end
return 1
"""


class RedisLimiter:
    """A Limiter whose counters are in Redis. ``node`` names this host among those that share the limits."""

    def __init__(self, link: RedisLink, clock: Clock, alone: Limiter, node: str) -> None:
        self.link = link
        self.nodes = 1
        self._alone = alone
        self._node = node
        self._levels = Remembered(clock)
        self._scaled: dict[tuple[str, Charge], Charge] = {}  # taken from ``alone``, and as what
        self._slots: set[tuple[str, str]] = set()  # (key, call id) of slots that are lent to this process
        self._tasks: set[asyncio.Task[None]] = set()

    async def take(self, call_id: str, charges: Sequence[Charge]) -> Taken:
        """Take every charge or none of them, as Redis says; at this node's share where it says nothing."""
        for _ in range(_TRIES):
            try:
                taken = await take_safely(self._take(call_id, charges), lambda: self._give_back(call_id, charges))
            except RedisDown:
                if self.link.down is not None:
                    break
                continue  # slow, but there: the limit is exact for as long as it can be asked
            self._levels.learn(charges, taken)
            if taken.refused is None:
                self._slots.update((_key(c), call_id) for c in charges if c.kind == "concurrency")
            return taken
        return await self._take_alone(call_id, charges)

    def settle(self, call_id: str, charge: Charge, actual: float) -> None:
        """Replace what was taken by what was used, soon."""
        scaled = self._scaled.pop((call_id, charge), None)
        if scaled is not None:
            self._alone.settle(call_id, scaled, actual)
            return
        self._slots.discard((_key(charge), call_id))
        if charge.kind == "requests" and actual == charge.cost:
            return
        task = asyncio.get_running_loop().create_task(self._settle(call_id, charge, actual))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def spare(self, charge: Charge) -> float:
        """Return the free share of a counter, as last heard."""
        return self._levels.spare(charge)

    async def keep(self) -> None:
        """Renew the slots in use and be counted among the nodes, for ever."""
        while True:
            try:
                self.nodes = max(1, await self.link.run(self._beat, timeout_s=1.0))
            except RedisDown:
                pass  # the number last seen holds; slots lent meanwhile come back by themselves
            await asyncio.sleep(_RENEW_S)

    async def aclose(self) -> None:
        """Settle what is pending and let go."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)
        await self._alone.aclose()
        await self.link.aclose()

    # --- Redis ---

    async def _take(self, call_id: str, charges: Sequence[Charge]) -> Taken:
        arguments: list[Any] = [call_id, _LEASE_S]
        for c in charges:
            arguments += [c.kind, repr(c.capacity), repr(c.period_s), repr(c.cost)]
        keys = [_key(c) for c in charges]
        said = await self.link.run(lambda client: client.eval(_TAKE, len(keys), *keys, *arguments))
        refused, wait, *figures = [float(value) for value in said]
        levels = tuple(Level(max(0.0, figures[n]), max(0.0, figures[n + 1])) for n in range(0, len(figures), 2))
        if not refused:
            return Taken(levels=levels)
        return Taken(levels=levels, refused=int(refused) - 1, retry_s=None if wait < 0 else wait)

    async def _settle(self, call_id: str, charge: Charge, actual: float) -> None:
        arguments = [
            call_id,
            charge.kind,
            repr(charge.capacity),
            repr(charge.period_s),
            repr(charge.cost),
            repr(actual),
        ]
        for _ in range(3):
            try:
                await self.link.run(lambda client: client.eval(_SETTLE, 1, _key(charge), *arguments), timeout_s=1.0)
                return
            except RedisDown:
                await asyncio.sleep(1.0)
        _log.warning("the use of limit %r could not be settled, so its reservation stands", charge.limit)

    async def _beat(self, client: Any) -> int:
        seconds, _ = await client.time()
        pipeline = client.pipeline(transaction=False)
        pipeline.zadd(_NODES, {self._node: seconds})
        pipeline.zremrangebyscore(_NODES, "-inf", seconds - _NODE_S)
        pipeline.zcard(_NODES)
        for key, call_id in self._slots:
            pipeline.zadd(key, {call_id: seconds + _LEASE_S}, xx=True)
            pipeline.pexpire(key, round(_LEASE_S * 1000))
        return int((await pipeline.execute())[2])

    def _give_back(self, call_id: str, charges: Sequence[Charge]) -> None:
        for charge in charges:
            self.settle(call_id, charge, 0.0)

    # --- without Redis ---

    async def _take_alone(self, call_id: str, charges: Sequence[Charge]) -> Taken:
        scaled = [self._share(charge) for charge in charges]
        taken = await self._alone.take(call_id, scaled)
        if taken.refused is None:
            self._scaled.update({(call_id, charge): part for charge, part in zip(charges, scaled, strict=True)})
        elif taken.retry_s is None:
            # It is too large for the share, and may fit the whole when that can be asked again.
            taken = msgspec.structs.replace(taken, retry_s=1.0)
        return taken

    def _share(self, charge: Charge) -> Charge:
        capacity = charge.capacity / self.nodes
        if charge.kind in ("requests", "concurrency"):
            capacity = max(1.0, capacity // 1)
        return msgspec.structs.replace(charge, capacity=capacity)


def _key(charge: Charge) -> str:
    return _PREFIX + msgspec.json.encode([charge.limit, charge.kind, charge.subject]).decode()
