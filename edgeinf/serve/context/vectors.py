"""Passages by meaning: embedded by a region as documents change, found by how near a question's embedding is.

What a region that fails leaves to be found is found by words; a call never fails for want of vectors.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from pathlib import Path

from edgeinf.serve.context.embedder import Embedder, VectorsFailed
from edgeinf.serve.context.index import Index
from edgeinf.serve.context.patience import Patience
from edgeinf.serve.context.search import Hit, passages, shortened
from edgeinf.serve.context.vector_store import VectorStore
from edgeinf.serve.origin.client import Client
from edgeinf.serve.origin.region import Origin

__all__ = ["Vectors"]

# Sixteen of the widest vectors are an answer of 3 MB.
_BATCH = 16
_BATCH_S = 60.0
# A client waits for its question's embedding, at the most so long.
_QUESTION_S = 3.0


class Vectors:
    """The passages of an index as one model has them. Questions may be asked while passages are being embedded."""

    def __init__(
        self, model: str, origin: Origin, path: Path | None, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Open what is kept at ``path``; None keeps it in memory. Raise ConfigError."""
        self.store = VectorStore(path)
        self._embedder = Embedder(origin, model)
        self._places: dict[bytes, list[int]] = {}
        self._read: int | None = None
        self._whole: int | None = None  # the version of the index whose every passage is embedded
        self._asked: dict[bytes, asyncio.Task[bytes | None]] = {}
        self._passages = Patience(
            "documents are not embedded, and found by words alone",
            "documents are embedded again",
            first_s=10.0,
            most_s=600.0,
            now=now,
        )
        self._questions = Patience(
            "questions are not embedded, and documents found by words alone",
            "questions are embedded again",
            first_s=10.0,
            most_s=60.0,
            now=now,
        )

    def read(self, index: Index) -> None:
        """Note where in the index each passage is, where it is another index than before."""
        version = index.version()
        if version == self._read:
            return
        places: dict[bytes, list[int]] = {}
        for row, text in index.contents():
            places.setdefault(_digest(text), []).append(row)
        self._places, self._read = places, version

    async def tend(self, client: Client, index: Index) -> bool:
        """Embed what is not yet, where the region is not being left alone; return whether anything may have changed."""
        version = await asyncio.to_thread(index.version)
        if version == self._whole or self._passages.resting():
            return False
        try:
            if await self.embed(client, index) is not None:
                self._whole = version
                self._passages.worked()
        except VectorsFailed as failure:
            self._passages.failed(failure)
        return True

    async def embed(self, client: Client, index: Index) -> int | None:
        """Embed every passage that is not yet, forget those that are gone, and return how many were embedded.

        None where another process is at it. Raise VectorsFailed; what was embedded before stays.
        """
        with self.store.alone() as alone:
            if not alone:
                return None
            contents = await asyncio.to_thread(index.contents)
            texts = {_digest(text): text for _, text in contents}
            await asyncio.to_thread(self.store.keep_only, texts)
            wanted = await asyncio.to_thread(self.store.missing, texts)
            for start in range(0, len(wanted), _BATCH):
                batch = wanted[start : start + _BATCH]
                vectors = await self._embedder.embed(client, [texts[digest] for digest in batch], _BATCH_S)
                await asyncio.to_thread(self.store.add, list(zip(batch, vectors, strict=True)))
            if await asyncio.to_thread(self.store.missing, texts):
                raise VectorsFailed("the model's vectors changed their width, all are made anew")
            return len(wanted)

    async def nearest(self, client: Client, index: Index, question: str, count: int) -> list[Hit] | None:
        """Return up to ``count`` passages, the nearest first; None where the question could not be embedded."""
        try:
            if await asyncio.to_thread(self.store.version) == 0:
                return []  # nothing is embedded yet; once something is, this question is looked at anew
            vector = await self._vector(client, shortened(question))
            if vector is None:
                return None
            return await asyncio.to_thread(self._near, index, vector, count)
        except VectorsFailed as failure:
            self._questions.failed(failure)
            return None

    def _near(self, index: Index, vector: bytes, count: int) -> list[Hit]:
        found = self.store.nearest(vector, count)
        rows = [(row, digest) for digest in found for row in self._places.get(digest, ())]
        there = passages(index, [row for row, _ in rows[:count]])
        # The index may have changed since its rows were noted, and a row may be another passage now.
        return [there[row][1] for row, digest in rows if row in there and _digest(there[row][0]) == digest]

    async def _vector(self, client: Client, question: str) -> bytes | None:
        name = _digest(question)
        known = await asyncio.to_thread(self.store.question, name)
        if known is not None:
            return known
        task = self._asked.get(name)
        if task is None:
            if self._questions.resting():
                return None
            # A task of its own: others may wait for the same question when this client leaves.
            task = self._asked[name] = asyncio.ensure_future(self._ask(client, name, question))
            task.add_done_callback(lambda _: self._asked.pop(name, None))
        return await asyncio.shield(task)

    async def _ask(self, client: Client, name: bytes, question: str) -> bytes | None:
        try:
            [vector] = await self._embedder.embed(client, [question], _QUESTION_S)
            await asyncio.to_thread(self.store.add_question, name, vector)
        except VectorsFailed as failure:
            self._questions.failed(failure)
            return None
        self._questions.worked()
        return vector


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()
