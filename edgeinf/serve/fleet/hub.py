"""What the workers of one host share, held by their parent: limits, who fetches what, figures, purges."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.eviction import LruTtl
from edgeinf.serve.fleet.link import Handler, Link, LinkDown
from edgeinf.serve.limits.base import Charge, Limiter, Taken

__all__ = ["Hub", "Joined"]

# Of how many answers it is remembered which worker has them in its memory.
_HELD = 50_000


class Joined(msgspec.Struct, kw_only=True):
    """The part of one worker in an answer: it fetches, or is told under a number by the one that fetches or has it.

    ``look_again``: others have stored it meanwhile, where all can see it.
    """

    leads: bool
    number: int = 0
    held: bool = False
    look_again: bool = False


class _Take(msgspec.Struct, array_like=True):
    call_id: str
    charges: list[Charge]


class _Settle(msgspec.Struct, array_like=True):
    call_id: str
    charge: Charge
    actual: float


class Hub:
    """Handles what workers ask. ``links`` are those that are alive."""

    def __init__(self, limiter: Limiter) -> None:
        self.links: list[Link] = []
        self._limiter = limiter
        self._slots: dict[Link, dict[tuple[str, str, str, str], Charge]] = {}
        self._leaders: dict[bytes, Link] = {}
        self._holders: LruTtl[bytes, Link] = LruTtl(max_entries=_HELD)
        self._numbers = itertools.count(1)
        self._follows: dict[int, tuple[Link, Link]] = {}  # number -> leader, follower

    def handlers(self) -> dict[str, Handler]:
        """Return what a worker's link is answered with."""
        return {
            "take": self._take,
            "settle": self._settle,
            "join": self._join,
            "over": self._over,
            "part": self._part,
            "unfollow": self._unfollow,
            "snapshots": self._snapshots,
            "purge": self._purge,
            "issued": self._issued,
        }

    def add(self, link: Link) -> None:
        """Take in a worker."""
        self.links.append(link)
        self._slots[link] = {}

    def lost(self, link: Link) -> None:
        """Let go of a worker: its slots are free again, its flights are over, its followers are told."""
        if link in self.links:
            self.links.remove(link)
        for (call_id, *_), charge in self._slots.pop(link, {}).items():
            self._limiter.settle(call_id, charge, 0.0)
        self._leaders = {find: leader for find, leader in self._leaders.items() if leader is not link}
        for number, (leader, follower) in list(self._follows.items()):
            if link in (leader, follower):
                del self._follows[number]
                if leader is link:
                    follower.tell("lost", number)
                else:
                    leader.tell("unfollow", number)

    # --- limits ---

    async def _take(self, link: Link, body: msgspec.Raw) -> Taken:
        asked = msgspec.msgpack.decode(body, type=_Take)
        taken = await self._limiter.take(asked.call_id, asked.charges)
        if taken.refused is None:
            self._hold(link, asked.call_id, asked.charges)
        return taken

    def _hold(self, link: Link, call_id: str, charges: Sequence[Charge]) -> None:
        held = self._slots.get(link)
        for charge in charges:
            if charge.kind != "concurrency":
                continue
            if held is None:  # the worker died while its call was decided
                self._limiter.settle(call_id, charge, 0.0)
            else:
                held[(call_id, charge.limit, charge.kind, charge.subject)] = charge

    def _settle(self, link: Link, body: msgspec.Raw) -> None:
        told = msgspec.msgpack.decode(body, type=_Settle)
        charge = told.charge
        if charge.kind == "concurrency":
            name = (told.call_id, charge.limit, charge.kind, charge.subject)
            if self._slots.get(link, {}).pop(name, None) is None:
                return
        self._limiter.settle(told.call_id, charge, told.actual)

    # --- who fetches what ---

    def _join(self, link: Link, body: msgspec.Raw) -> Joined:
        find, ask_holder = msgspec.msgpack.decode(body, type=tuple[bytes, bool])
        leader = self._leaders.get(find)
        if leader is None or leader is link:
            holder = self._holders.get(find, 0.0)
            if not ask_holder or holder is None or holder is link or holder.down:
                self._leaders[find] = link
                return Joined(leads=True, look_again=self._holders.pop(find) is not None)
            return Joined(leads=False, number=self._follow(holder, link, find), held=True)
        return Joined(leads=False, number=self._follow(leader, link, find))

    def _follow(self, leader: Link, link: Link, find: bytes) -> int:
        number = next(self._numbers)
        self._follows[number] = (leader, link)
        leader.tell("follow", (number, find))
        return number

    def _over(self, link: Link, body: msgspec.Raw) -> None:
        find, stored = msgspec.msgpack.decode(body, type=tuple[bytes, bool])
        if self._leaders.get(find) is link:
            del self._leaders[find]
            if stored:
                self._holders.put(find, link, now=0.0, ttl_s=1.0)

    def _part(self, link: Link, body: msgspec.Raw) -> None:
        number, last, part = msgspec.msgpack.decode(body, type=tuple[int, bool, msgspec.Raw])
        follow = self._follows.get(number)
        if follow is not None:
            follow[1].tell("part", (number, part))
            if last:
                del self._follows[number]

    def _unfollow(self, link: Link, body: msgspec.Raw) -> None:
        number = msgspec.msgpack.decode(body, type=int)
        follow = self._follows.pop(number, None)
        if follow is not None:
            follow[0].tell("unfollow", number)

    # --- everybody ---

    async def _snapshots(self, link: Link, body: msgspec.Raw) -> list[bytes]:
        return await self._ask_others(link, "snapshot", body, bytes, timeout_s=2.0)

    async def _purge(self, link: Link, body: msgspec.Raw) -> int:
        return sum(await self._ask_others(link, "purge", body, int, timeout_s=30.0))

    def _issued(self, link: Link, body: msgspec.Raw) -> None:
        for other in self.links:
            if other is not link:
                other.tell("issued", body)

    async def _ask_others(self, link: Link, name: str, body: Any, kind: type[Any], *, timeout_s: float) -> list[Any]:
        others = [other for other in self.links if other is not link]
        answers = await asyncio.gather(
            *(other.ask(name, body, kind, timeout_s=timeout_s) for other in others), return_exceptions=True
        )
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, LinkDown):
                raise answer
        return [answer for answer in answers if not isinstance(answer, BaseException)]
