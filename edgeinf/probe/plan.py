"""What will be done, decided before the first packet: who is asked when, and how much it can cost."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import msgspec

from edgeinf.probe.request import Asked
from edgeinf.probe.values import Phase

__all__ = ["COLD_EVERY", "Plan", "Step", "steps"]

COLD_EVERY = 4  # rounds from one cold attempt to the next, where both are measured; 20 rounds give a cold median


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How to measure. ``mode``: both (warm, and cold now and then), cold, ping, idle."""

    rounds: int = 20
    mode: str = "both"
    idle_s: float = 0.0
    seed: int = 1
    asked: Asked = Asked()

    @property
    def completions(self) -> int:
        """Return how many completions one target is asked for, the check beforehand left out."""
        if self.mode == "ping":
            return 0
        if self.mode == "cold":
            return self.rounds
        return self.rounds * 2 if self.mode == "idle" else self.rounds + -(-self.rounds // COLD_EVERY)


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt to make; ``wait_s`` is the silence before it."""

    round: int
    target: str
    phase: Phase
    wait_s: float = 0.0


def steps(plan: Plan, targets: Sequence[str], rounds: Iterator[int]) -> Iterator[Step]:
    """Yield the attempts of all rounds: targets in a new seeded order in each round, never two at once."""
    rng = random.Random(plan.seed)
    for number in rounds:
        if plan.mode == "both":
            if number % COLD_EVERY == 0:
                yield from _pass(number, targets, ("cold",), rng)
            yield from _pass(number, targets, ("warm",), rng)
        elif plan.mode == "cold":
            yield from _pass(number, targets, ("cold",), rng)
        elif plan.mode == "ping":
            yield from _pass(number, targets, ("cold", "warm"), rng)
        else:
            yield from _pass(number, targets, ("idle", "warm"), rng, plan.idle_s)


def _pass(
    number: int, targets: Sequence[str], phases: tuple[Phase, ...], rng: random.Random, wait_s: float = 0.0
) -> Iterator[Step]:
    for position, target in enumerate(rng.sample(targets, len(targets))):
        for phase in phases:
            wait = wait_s if position == 0 and phase == phases[0] else 0.0
            yield Step(round=number, target=target, phase=phase, wait_s=wait)
