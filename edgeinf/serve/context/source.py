"""A folder of documents as prompts use it: kept up to date in the background, searched on a thread, cited."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from edgeinf.core import tokens
from edgeinf.core.config import schema
from edgeinf.core.config.schema import Context
from edgeinf.core.errors import ConfigError, EdgeinfError
from edgeinf.serve.context.hybrid import find
from edgeinf.serve.context.index import Index, default_path
from edgeinf.serve.context.search import Hit, search
from edgeinf.serve.context.vector_store import path_beside
from edgeinf.serve.context.vectors import Vectors
from edgeinf.serve.origin.client import Client
from edgeinf.serve.origin.region import Origin

__all__ = ["Found", "Source", "cited"]

_log = logging.getLogger("edgeinf.context")

# How often the folder is looked at, at most.
_EVERY_S = 1.0
_INTRO = "Passages from documents that may help. Cite those you use as [1], [2]."


class Found(msgspec.Struct, frozen=True):
    """What is said to the model; not ``settled`` where it would be another but for a region that fails just now."""

    text: str
    settled: bool = True


class Source:
    """One rule's documents. ``version`` is another after any of them changed, or was embedded."""

    def __init__(self, context: Context, cache: Path | None, origins: Sequence[Origin] = ()) -> None:
        """Open the folder's index and bring it up to date. Raise ConfigError."""
        self.role = context.as_
        self._context = context
        self._folder: Path | None = context.source
        if context.source.suffix == ".sqlite":
            if not context.source.is_file():
                raise ConfigError(f"there is no index {context.source}", hint="edgeinf index makes one")
            self._folder = None
            path: Path | None = context.source
            self.index = Index(path)
        else:
            path = None if cache is None else default_path(context.source, cache)
            self.index = Index(path)
            try:
                self.index.update(context.source)
            except (EdgeinfError, OSError) as error:
                raise ConfigError(f"cannot read documents: {error}", hint="prompt[].context.source") from None
        self._vectors = None if context.vectors is None else _vectors(context.vectors, path, origins)
        self.version = self._state()
        self._looked_at = time.monotonic()
        self._looking = threading.Lock()
        self._failed = ""

    def refresh(self) -> int:
        """Return the version, and have the folder looked at on a thread where that was a while ago."""
        now = time.monotonic()
        if now - self._looked_at >= _EVERY_S:
            self._looked_at = now
            asyncio.get_running_loop().run_in_executor(None, self.look)
        return self.version

    def look(self) -> None:
        """Bring the index up to date; what cannot be read stays as it was."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            if self._folder is not None:
                self.index.update(self._folder)
            self.version = self._state()
            self._failed = ""
        except Exception as error:
            if self._failed != str(error):
                _log.warning("the documents in %s cannot be read, the last index stays: %s", self._folder, error)
            self._failed = str(error)
        finally:
            self._looking.release()

    async def tend(self, client: Client) -> None:
        """Have what changed embedded, where that is asked for."""
        if self._vectors is not None and await self._vectors.tend(client, self.index):
            await asyncio.to_thread(self.look)

    async def context_for(self, question: str, client: Client) -> Found:
        """Return what is said to the model of the passages that answer a question; empty where none does."""
        if self._vectors is None:
            hits, settled = await asyncio.to_thread(search, self.index, question, self._context.top_k), True
        else:
            hits, settled = await find(self.index, self._vectors, client, question, self._context.top_k)
        return Found(cited(hits, self._context.max_tokens), settled)

    def _state(self) -> int:
        if self._vectors is None:
            return self.index.version()
        self._vectors.read(self.index)
        return hash((self.index.version(), self._vectors.store.version()))


def _vectors(given: schema.Vectors, index: Path | None, origins: Sequence[Origin]) -> Vectors:
    able = [o for o in origins if "openai" in o.families and given.region in (None, o.name)]
    if not able:
        raise ConfigError("no region makes the embeddings of documents", hint="prompt[].context.vectors.region")
    return Vectors(given.model, able[0], None if index is None else path_beside(index, given.model))


def cited(hits: list[Hit], max_tokens: int) -> str:
    """Return passages numbered, each with where it is from, as many as the budget holds."""
    parts = [_INTRO]
    left = max_tokens - tokens.estimate(_INTRO)
    for hit in hits:
        where = f"{hit.path}, {hit.heading}" if hit.heading else hit.path
        part = f"[{len(parts)}] {where} (line {hit.line})\n{hit.text}"
        cost = tokens.estimate(part) + 1
        if cost > left:
            continue
        left -= cost
        parts.append(part)
    return "\n\n".join(parts) if len(parts) > 1 else ""
