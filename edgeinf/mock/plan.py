"""Give a planned answer its delays."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from edgeinf.mock.script import Shape, Timing
from edgeinf.mock.values import Kind, Piece, Plan

__all__ = ["schedule"]


def schedule(plan: Plan, timing: Timing, shape: Shape, rng: random.Random) -> None:
    """Set the waits of a plan: the first token at ``ttft``, each further token ``tpot`` later.

    A whole answer comes when its last token would have. Hidden reasoning delays the first token.
    """
    ttft, tpot, head = timing.ttft_s, timing.tpot_s, timing.headers_s
    if not (ttft or tpot or head):
        return
    if timing.jitter:
        head *= 1 + timing.jitter * (2 * rng.random() - 1)
        ttft *= 1 + timing.jitter * (2 * rng.random() - 1)
    if plan.stream:
        ttft += tpot * shape.hidden_reasoning
        plan.head_s = head
        if ttft or tpot:
            plan.pieces = _paced(plan.pieces, max(0.0, ttft - head), tpot, timing.jitter, rng)
    else:
        plan.head_s = max(head, ttft + tpot * max(0, plan.tokens - 1))


def _paced(
    pieces: Iterable[Piece], first_s: float, tpot_s: float, jitter: float, rng: random.Random
) -> Iterator[Piece]:
    begun = False
    for piece in pieces:
        if piece.kind is Kind.TOKEN and not piece.joint:
            if begun:
                piece.wait_s = tpot_s * max(1, piece.tokens)
                if jitter:
                    piece.wait_s *= 1 + jitter * (2 * rng.random() - 1)
            else:
                piece.wait_s = first_s
                begun = True
        yield piece
