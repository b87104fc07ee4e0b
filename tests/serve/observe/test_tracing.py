"""The W3C header, read as its specification says."""

from __future__ import annotations

import pytest

from edgeinf.serve.observe.tracing import Span, Trace, read_traceparent, traced

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (f"00-{TRACE}-{PARENT}-01", (TRACE, PARENT, True)),
        (f"00-{TRACE}-{PARENT}-00", (TRACE, PARENT, False)),
        (f"cc-{TRACE}-{PARENT}-01-what-the-future-will-be-like", (TRACE, PARENT, True)),
        (f"00-{TRACE}-{PARENT}-01-more", None),
        (f"ff-{TRACE}-{PARENT}-01", None),
        (f"00-{'0' * 32}-{PARENT}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (f"00-{TRACE.upper()}-{PARENT}-01", None),
        (f"00-{TRACE[:-1]}-{PARENT}-01", None),
        ("", None),
        (None, None),
    ],
    ids=["sampled", "not", "future", "longer", "ff", "no trace", "no parent", "upper", "short", "empty", "none"],
)
def test_the_header_is_read_or_means_nothing(text: str | None, read: tuple[str, str, bool] | None) -> None:
    assert read_traceparent(text) == read


def test_an_attempt_is_the_parent_of_what_the_origin_does() -> None:
    span = Span(Trace(TRACE, "a" * 16, PARENT, True), "b" * 16, "attempt", 1)
    headers = traced([(b"traceparent", b"old"), (b"accept", b"*/*")], span)
    assert headers == [(b"accept", b"*/*"), (b"traceparent", f"00-{TRACE}-{'b' * 16}-01".encode())]
