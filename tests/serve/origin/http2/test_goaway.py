"""GOAWAY is taken out of the bytes, wherever they are split; nothing else is touched."""

from __future__ import annotations

import pytest
from h2.exceptions import FrameTooLargeError
from hyperframe.frame import DataFrame, GoAwayFrame, PingFrame

from edgeinf.serve.origin.http2.goaway import Frames, GoAway

DATA = DataFrame(1, b"x" * 300).serialize()
EMPTY = DataFrame(3, b"").serialize()
PING = PingFrame(0, b"12345678").serialize()
GONE = GoAwayFrame(0, last_stream_id=7, error_code=11, additional_data=b"too many").serialize()


def fed(data: bytes, size: int) -> tuple[bytes, list[tuple[int, GoAway]]]:
    """Return what passes, and each GOAWAY with how many bytes had passed before it."""
    frames, passed, gone = Frames(), b"", []
    for start in range(0, len(data), size):
        for part in frames.feed(data[start : start + size]):
            if isinstance(part, GoAway):
                gone.append((len(passed), part))
            else:
                passed += part
    return passed, gone


@pytest.mark.parametrize("size", [1, 2, 8, 9, 10, 17, 100, 10_000])
def test_it_is_found_at_every_split(size: int):
    passed, gone = fed(PING + GONE + DATA + EMPTY + GONE + PING, size)
    assert passed == PING + DATA + EMPTY + PING
    assert gone == [(len(PING), GoAway(7, 11)), (len(PING + DATA + EMPTY), GoAway(7, 11))]


@pytest.mark.parametrize("size", [1, 9, 10_000])
def test_a_body_that_looks_like_one_is_a_body(size: int):
    body = DataFrame(1, GONE * 3).serialize()
    assert fed(body + DATA, size) == (body + DATA, [])


@pytest.mark.parametrize(
    "frame",
    [
        b"\x00\x00\x07\x07\x00\x00\x00\x00\x00" + b"x" * 7,
        b"\x00\x00\x08\x07\x00\x00\x00\x00\x05" + b"x" * 8,
    ],
    ids=["too short", "on a stream"],
)
def test_one_that_is_wrong_is_left_to_the_protocol(frame: bytes):
    assert fed(frame, 4096) == (frame, [])


@pytest.mark.parametrize("said", [b"HTTP/1.1 400 Bad Request", b"\x00\x40\x01\x07\x00\x00\x00\x00\x00"])
def test_a_frame_larger_than_we_allow_is_refused_before_it_has_come(said: bytes):
    with pytest.raises(FrameTooLargeError):
        fed(PING + said, 7)


def test_what_passes_is_not_held_back():
    frames = Frames()
    assert frames.feed(DATA[:50]) == [DATA[:50]]
    assert frames.feed(DATA[50:] + PING[:9]) == [DATA[50:] + PING[:9]]
    assert frames.feed(PING[9:]) == [PING[9:]]
