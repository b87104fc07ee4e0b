"""Passages by words and by meaning in one ranking: reciprocal rank fusion.

Cormack, Clarke and Büttcher, SIGIR 2009: a passage's score is the sum of 1 / (60 + rank) over the rankings it is in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from edgeinf.serve.context.index import Index
from edgeinf.serve.context.search import CANDIDATES, Hit, search, terms
from edgeinf.serve.context.vectors import Vectors
from edgeinf.serve.origin.client import Client

__all__ = ["find", "fuse"]

_SMOOTHING = 60


async def find(index: Index, vectors: Vectors, client: Client, question: str, top_k: int) -> tuple[list[Hit], bool]:
    """Return up to ``top_k`` passages for a question, and whether its meaning counted; by words alone else."""
    if not terms(question):
        return [], True  # no word was said, and everything would be as near
    count = max(top_k, CANDIDATES)
    by_words = await asyncio.to_thread(search, index, question, count)
    by_meaning = await vectors.nearest(client, index, question, count)
    if by_meaning is None:
        return by_words[:top_k], False
    return fuse((by_words, by_meaning), top_k), True


def fuse(rankings: Sequence[Sequence[Hit]], top_k: int) -> list[Hit]:
    """Return the best of several rankings; where two passages are level, the earlier ranking's comes first."""
    hits: dict[int, Hit] = {}
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, 1):
            hits.setdefault(hit.id, hit)
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (_SMOOTHING + rank)
    best = sorted(scores, key=lambda number: -scores[number])[:top_k]
    return [msgspec.structs.replace(hits[number], score=scores[number]) for number in best]
