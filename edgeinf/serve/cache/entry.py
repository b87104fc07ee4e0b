"""One stored answer as bytes that prove themselves.

Layout: ``EIC1``, header length (4 bytes, big endian), header (JSON), body as the origin sent it, xxh3-64 of all that
precedes (8 bytes). What is cut short, damaged or of another version does not decode, and counts as absent.
"""

from __future__ import annotations

import msgspec
import xxhash

from edgeinf.core.call import Usage

__all__ = ["Entry", "decode", "encode"]

_MAGIC = b"EIC1"
_OVERHEAD = len(_MAGIC) + 4 + 8
# JSON has no infinity; an entry that never ends is kept for thirty thousand years.
_FOREVER_S = 1e12


class Entry(msgspec.Struct, kw_only=True):
    """A stored answer. Times are seconds since the epoch; ``stream`` says whether the body is raw events."""

    trust: bytes
    stored_at: float
    ttl_s: float
    stream: bool
    content_type: str
    dialect: str
    path: str
    model: str | None = None  # the model that answered
    asked: str | None = None  # the model that was asked for
    region: str | None = None
    namespace: str = ""
    level: str = ""
    usage: Usage = Usage()
    usd: float | None = None
    total_ms: float | None = None
    ttft_ms: float | None = None
    pace_ms: list[float] | None = None  # when each event arrived, for a paced replay
    headers: list[tuple[str, str]] = []
    body: bytes = b""

    def fresh_at(self, now: float) -> bool:
        """Return whether the answer's life has not ended."""
        return now - self.stored_at < self.ttl_s


_encode_header = msgspec.json.Encoder().encode
_decode_header = msgspec.json.Decoder(Entry).decode


def encode(entry: Entry) -> bytes:
    """Return the entry's bytes."""
    header = _encode_header(msgspec.structs.replace(entry, body=b"", ttl_s=min(entry.ttl_s, _FOREVER_S)))
    whole = b"%b%b%b%b" % (_MAGIC, len(header).to_bytes(4, "big"), header, entry.body)
    return whole + xxhash.xxh3_64_digest(whole)


def decode(raw: bytes, trust: bytes | None = None) -> Entry | None:
    """Return the entry, or None where the bytes are damaged, of another version, or not the one ``trust`` names."""
    if len(raw) < _OVERHEAD or raw[:4] != _MAGIC or xxhash.xxh3_64_digest(raw[:-8]) != raw[-8:]:
        return None
    start = 8 + int.from_bytes(raw[4:8], "big")
    if start > len(raw) - 8:
        return None
    try:
        entry = _decode_header(raw[8:start])
    except (msgspec.DecodeError, ValueError):
        return None
    if trust is not None and entry.trust != trust:
        return None
    entry.body = raw[start:-8]
    return entry
