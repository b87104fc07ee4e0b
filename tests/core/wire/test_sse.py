from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.wire.sse import Decoder, Event, decode_all, encode, encode_all

_TRICKY = (
    b'\xef\xbb\xbf: OPENROUTER PROCESSING\r\n\r\nid: 1\revent: x\rdata: {"a":"\xe4\xb8\x96\xf0\x9f\x98\x80"}\r\r'
    b"data:no space\ndata:  two\ndata\n\nretry: 5\n\nevent: gone\n\ndata: \xe2\x80\xa8\x0b\x0c\xc2\x85 end\n\n"
    b"event: a\r\nevent: b\r\ndata: last\r\n\r\ndata: never dispatched\n"
)
_EVENTS = [
    Event(b"x", '{"a":"世😀"}'.encode()),
    Event(b"", b"no space\n two\n"),
    Event(b"", "\u2028\x0b\x0c\u0085 end".encode()),
    Event(b"b", b"last"),
]


def reference(raw: bytes) -> list[Event]:
    """Read a whole stream as the standard words it, line by line."""
    events, name, data = [], b"", []
    lines = re.split(b"\r\n|\n|\r", raw.removeprefix(b"\xef\xbb\xbf"))
    for line in lines[:-1]:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if not line:
            if data:
                events.append(Event(name, b"\n".join(data)))
            name, data = b"", []
        elif field == b"event":
            name = value
        elif field == b"data":
            data.append(value)
    return events


def test_the_standards_cases_are_read() -> None:
    assert decode_all(_TRICKY) == _EVENTS == reference(_TRICKY)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7])
def test_reads_of_any_size_give_the_same_events(size: int) -> None:
    decoder = Decoder()
    pieces = [_TRICKY[at : at + size] for at in range(0, len(_TRICKY), size)]
    assert [event for piece in pieces for event in decoder.feed(piece)] == _EVENTS


def test_every_split_point_gives_the_same_events() -> None:
    for at in range(len(_TRICKY) + 1):
        decoder = Decoder()
        assert decoder.feed(_TRICKY[:at]) + decoder.feed(_TRICKY[at:]) == _EVENTS, at


_piece = st.sampled_from(
    [
        b"data:",
        b"data: ",
        b"data",
        b"event: e",
        b"event",
        b"id: 1",
        b":c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"x",
        b" ",
        b"\xe4\xb8\x96",
        b"\xef\xbb\xbf",
        b"datax: 1",
        b"retry: 1",
    ]
)


@given(st.lists(_piece, max_size=25).map(b"".join), st.data())
def test_any_bytes_in_any_reads_are_read_as_the_standard_reads_them(raw: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=6)))
    decoder = Decoder()
    fed = [decoder.feed(raw[start:end]) for start, end in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    # a CR at the very end ends its line; the reference cannot know whether a LF would have followed
    assert [event for events in fed for event in events] == reference(raw)


@given(
    st.lists(
        st.builds(
            Event,
            st.sampled_from([b"", b"ping", b"response.created"]),
            st.binary(max_size=20).filter(lambda data: b"\r" not in data),
        ),
        max_size=6,
    )
)
def test_what_is_encoded_is_decoded(events: list[Event]) -> None:
    assert decode_all(encode_all(events)) == events


def test_data_of_several_lines_is_several_fields() -> None:
    assert encode(Event(b"e", b"a\nb")) == b"event: e\ndata: a\ndata: b\n\n"


@pytest.mark.parametrize(
    ("raw", "between"),
    [
        (b"", True),
        (b"data: x\n\n", True),
        (b": comment\n", True),
        (b"data: x\n", False),
        (b"event: x\n", False),
        (b"da", False),
    ],
)
def test_the_place_between_two_events_is_known(raw: bytes, between: bool) -> None:
    decoder = Decoder()
    decoder.feed(raw)
    assert decoder.between_events is between


def test_an_endless_line_is_refused() -> None:
    decoder = Decoder(limit=10)
    with pytest.raises(ValueError, match="exceeds 10 bytes"):
        decoder.feed(b"data: 0123456789")


@pytest.mark.parametrize(("data", "done"), [(b"[DONE]", True), (b"[DONE] ", True), (b" [DONE]", False), (b"{}", False)])
def test_the_end_marker_is_data_that_starts_with_it(data: bytes, done: bool) -> None:
    assert Event(b"", data).is_done is done


def test_an_endless_event_is_refused() -> None:
    with pytest.raises(ValueError, match="an event of the stream exceeds 100 bytes"):
        Decoder(limit=100).feed(b"data: 0123456789\n" * 20)


def test_many_small_events_are_no_endless_one() -> None:
    decoder = Decoder(limit=100)
    assert sum(len(decoder.feed(b"data: 0123456789\n\n")) for _ in range(50)) == 50
