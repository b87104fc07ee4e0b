"""The values that pass between the parts of the mock: a request, a piece of an answer, a planned answer."""

from __future__ import annotations

import enum
import gzip
import hashlib
import zlib
from collections.abc import Iterable
from typing import Any

import msgspec

__all__ = ["UNKEYED", "Ask", "Kind", "Piece", "Plan"]

# Fields that do not change what a model would answer; the scripted answer must not depend on them either,
# or a stream and a whole answer to one question would differ.
UNKEYED = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "encoding_format",
        "mock",
    }
)


class Kind(enum.Enum):
    """What a piece of an answer is, so that delays and faults can be placed by it."""

    OPEN = "open"  # role chunk, message_start, response.created, block starts
    TOKEN = "token"  # carries model output
    MARK = "mark"  # finish reasons and block stops
    USAGE = "usage"
    END = "end"  # [DONE], message_stop, response.completed
    SIDE = "side"  # pings, comments
    ERROR = "error"
    WHOLE = "whole"  # a whole body
    PART = "part"  # the front of a split piece; the rest follows
    CLOSE = "close"  # not data: close the connection
    RESET = "reset"  # not data: close it with RST
    HOLD = "hold"  # not data: say nothing more until released


class Piece(msgspec.Struct, gc=False):
    """Bytes that are sent together. ``wait_s`` is the time since the piece before."""

    kind: Kind
    data: bytes = b""
    tokens: int = 0
    wait_s: float = 0.0
    joint: bool = False  # at the same instant as the token before: another choice of the same round
    alone: bool = False  # in its own packet
    bare: bool = False  # outside the HTTP chunk framing


class Ask(msgspec.Struct):
    """One request as it came. ``headers`` are raw, names in lower case."""

    method: str
    path: str
    query: str
    headers: list[tuple[bytes, bytes]]
    body: bytes
    number: int = 0
    region: str = ""
    json: Any = None
    model: str = ""
    stream: bool = False
    digest: int = 0
    digest_bytes: int = 0
    created: int = 0
    identity: str = ""

    def header(self, name: bytes) -> str | None:
        """Return the first value of a header, by its lower-case name."""
        for key, value in self.headers:
            if key == name:
                return value.decode("latin-1")
        return None

    def field(self, name: str, default: Any = None) -> Any:
        """Return a field of the JSON body, or ``default``."""
        return self.json.get(name, default) if isinstance(self.json, dict) else default

    def read(self, *, sampled: bool = False) -> None:
        """Parse the body and derive the digest that the answer is made from."""
        plain = self._plain()
        if plain[:1] in (b"{", b"["):
            try:
                self.json = msgspec.json.decode(plain)
            except msgspec.DecodeError:
                self.json = None
        source = plain
        if isinstance(self.json, dict):
            self.model = str(self.json.get("model", ""))
            self.stream = self.json.get("stream") is True
            kept = self.json
            dropped = UNKEYED & kept.keys()
            if dropped:
                kept = {k: v for k, v in kept.items() if k not in dropped}
            if b'"cache_control"' in plain:
                kept = _without_cache_marks(kept)
            source = msgspec.json.encode(kept, order="deterministic")
        self.digest_bytes = len(source)
        hasher = hashlib.blake2b(source, digest_size=8)
        if sampled:
            hasher.update(self.number.to_bytes(8, "little"))
        self.digest = int.from_bytes(hasher.digest(), "big")

    def _plain(self) -> bytes:
        encoding = self.header(b"content-encoding")
        try:
            if encoding == "gzip":
                return gzip.decompress(self.body)
            if encoding == "deflate":
                return zlib.decompress(self.body)
        except (OSError, EOFError, zlib.error):
            pass  # a damaged body is answered like any body that is not JSON
        return self.body


def _without_cache_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_cache_marks(v) for k, v in value.items() if k != "cache_control"}
    if isinstance(value, list):
        return [_without_cache_marks(item) for item in value]
    return value


class Plan(msgspec.Struct):
    """An answer before it is sent. Faults edit it; the player sends it."""

    pieces: Iterable[Piece]
    status: int = 200
    reason: str = ""
    content_type: str = "application/json"
    headers: list[tuple[str, str]] = []
    stream: bool = False
    tokens: int = 0  # output tokens, for the duration of a whole answer
    head_s: float = 0.0  # from the request's last byte to the headers
    before: Piece | None = None  # CLOSE, RESET or HOLD before the headers
    framing: str = "auto"  # auto | length | chunked | eof
    length_error: int = 0  # added to the content-length
    bom: bool = False
    effects: list[tuple[str, float]] = []  # ("freeze" | "down", seconds), on the whole origin
    close: bool = False  # close after a complete answer

    @property
    def plain(self) -> bool:
        """Whether this is one whole body, now, with nothing special about it."""
        ordinary = not (self.stream or self.head_s or self.close or self.length_error or self.effects)
        untouched = self.before is None and self.framing == "auto" and self.status not in (204, 304)
        return ordinary and untouched and isinstance(self.pieces, tuple) and len(self.pieces) == 1
