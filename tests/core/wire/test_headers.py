from __future__ import annotations

from edgeinf.core.wire.headers import CREDENTIALS, HOP_BY_HOP, end_to_end, get


def test_names_are_found_in_lower_case() -> None:
    assert get([(b"a", b"1"), (b"b", b"2"), (b"b", b"3")], b"b") == b"2"
    assert get([], b"b") is None


def test_headers_of_one_connection_stay_behind() -> None:
    headers = [(b"Connection", b"close, X-Mine"), (b"x-mine", b"1"), (b"X-Other", b"2"), (b"TE", b"trailers")]
    assert end_to_end(headers) == [(b"x-other", b"2")]


def test_names_in_the_sets_are_lower_case() -> None:
    assert all(name == name.lower() for name in HOP_BY_HOP | CREDENTIALS)
