"""A client's body on a path that no dialect claims: bounded, held where that is wanted and it is small, else passed."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import ClientGone, Exchange

__all__ = ["HOLD", "Pieces", "Upload", "held"]

HOLD = 2**20
"""A body of at most so many bytes may be held, so that it can be sent once more to another region."""

# How long an upload may pause.
_PATIENCE_S = 60.0


class Pieces:
    """What is left of a body that is passed on as it comes. ``begun`` once any of it was asked for."""

    def __init__(self, first: list[bytes], rest: AsyncIterator[bytes]) -> None:
        self.begun = False
        self._first = first
        self._rest = rest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.begun = True
        while self._first:
            yield self._first.pop(0)
        async for piece in self._rest:
            yield piece


async def held(pieces: AsyncIterable[bytes], limit: int = HOLD) -> bytes | Pieces:
    """Return the whole body where it has at most ``limit`` bytes, else what passes it on."""
    source = aiter(pieces)
    first: list[bytes] = []
    size = 0
    async for piece in source:
        first.append(piece)
        size += len(piece)
        if size > limit:
            return Pieces(first, source)
    return b"".join(first)


class Upload:
    """The client's body as it arrives, bounded."""

    def __init__(self, x: Exchange, limit: int) -> None:
        self._x = x
        self._limit = limit
        self.failure: CallError | None = None
        length = int(x.headers.get(b"content-length", b"0") or b"0")
        self.expected = length > 0 or b"transfer-encoding" in x.headers
        self.small = length <= HOLD  # as far as it is announced
        if length > limit:
            raise self._too_large()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield what arrives. Raise ClientGone, CallError 408 or 413."""
        size = 0
        while True:
            message = await self._x.within(_PATIENCE_S)
            if message["type"] == "http.disconnect":
                raise ClientGone
            piece: bytes = message.get("body", b"")
            size += len(piece)
            if size > self._limit:
                self.failure = self._too_large()
                raise self.failure
            yield piece
            if not message.get("more_body"):
                return

    def _too_large(self) -> CallError:
        hint = "listen.max_upload raises the limit"
        return CallError(f"the upload is larger than {self._limit} bytes", status=413, code="too_large", hint=hint)
