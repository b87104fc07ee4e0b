"""What gzip or zstd has packed, in the clear."""

from __future__ import annotations

import io

__all__ = ["unpacked"]


def unpacked(data: bytes, limit: int = -1) -> bytes:
    """Return data in the clear, at most ``limit`` bytes of it. Raise OSError, EOFError or ValueError on damage."""
    if data[:2] == b"\x1f\x8b":
        import gzip
        import zlib

        try:
            with gzip.open(io.BytesIO(data)) as packed:
                return packed.read(limit)
        except zlib.error as error:
            raise ValueError(str(error)) from None
    if data[:4] == b"\x28\xb5\x2f\xfd":
        import zstandard

        try:
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as stream:
                return stream.read(limit)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from None
    return data
