"""Find the passages that answer a question, best first, by BM25 over words in their stems."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from edgeinf.serve.context.index import Index, to_embed

__all__ = ["CANDIDATES", "Hit", "passages", "search", "shortened", "terms"]

_WORD = re.compile(r"\w+")
_MOST_TERMS = 48
_MOST_QUESTION = 4000
# How many passages are looked at for the few that are wanted.
CANDIDATES = 40

# Words that questions are made of and answers are not found by.
_STOP_WORDS = """
    a about after all also an and any are as at be been but by can could did do does doing for from get give has have
    how i if in into is it its just let many may me might more most much my need no not of on or other our out over
    please shall should so some such tell than that the their them then there these they this those to under up us
    use used using was we were what when where which while who whom whose why will with without would you your
"""
_STOP = frozenset(_STOP_WORDS.split())


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A passage that was found; the higher the score, the better."""

    id: int
    path: str
    heading: str
    line: int
    text: str
    score: float


def terms(question: str) -> list[str]:
    """Return the words to search for, each once, without those that say nothing."""
    words = dict.fromkeys(
        word for word in _WORD.findall(shortened(question).lower()) if len(word) > 1 or word.isdigit()
    )
    telling = [word for word in words if word not in _STOP]
    return (telling or list(words))[:_MOST_TERMS]


def shortened(question: str) -> str:
    """Return what is looked at of a question: its beginning and its end where it is long."""
    if len(question) <= _MOST_QUESTION:
        return question
    return question[: _MOST_QUESTION // 2] + " " + question[-_MOST_QUESTION // 2 :]


def passages(index: Index, rows: Sequence[int]) -> dict[int, tuple[str, Hit]]:
    """Return (text to embed, passage without a score) for those rows that are in the index."""
    found = {}
    with index.lock:
        for row in rows:
            for title, path, heading, line, body in index.db.execute(
                "SELECT title, path, heading, line, body FROM passages WHERE rowid = ?", (row,)
            ):
                hit = Hit(id=row, path=path, heading=heading, line=line, text=body, score=0.0)
                found[row] = (to_embed(title, body), hit)
    return found


def search(index: Index, question: str, top_k: int) -> list[Hit]:
    """Return up to ``top_k`` passages for a question."""
    words = terms(question)
    if not words or top_k < 1:
        return []
    # Each term in quotes, so that nothing in a question is read as a query's syntax.
    wanted = " OR ".join(f'"{word}"' for word in words)
    with index.lock:
        rows = index.db.execute(
            "SELECT rowid, path, heading, line, body, -bm25(passages, 2.0, 1.0) AS score FROM passages "
            "WHERE passages MATCH ? ORDER BY score DESC, rowid LIMIT ?",
            (wanted, max(top_k, CANDIDATES)),
        ).fetchall()
        hits = [Hit(id=r[0], path=r[1], heading=r[2], line=r[3], text=r[4], score=r[5]) for r in rows]
    return hits[:top_k]
