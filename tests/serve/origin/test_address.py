"""Urls taken apart."""

from __future__ import annotations

import pytest

from edgeinf.serve.origin.address import locate
from edgeinf.serve.origin.client import ConnectFailed


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a/v1/x?y=1", ("http", "a", 80, b"a", b"/v1/x?y=1")),
        ("https://A.example", ("https", "a.example", 443, b"a.example", b"/")),
        ("https://a:8443/", ("https", "a", 8443, b"a:8443", b"/")),
        ("http://a:443/", ("http", "a", 443, b"a:443", b"/")),
        ("http://[::1]:8000/x", ("http", "::1", 8000, b"[::1]:8000", b"/x")),
        ("https://münchen.example/", ("https", "münchen.example", 443, b"xn--mnchen-3ya.example", b"/")),
    ],
)
def test_each_part_is_found(url: str, expected: tuple[object, ...]):
    assert tuple(locate(url)) == expected


@pytest.mark.parametrize("url", ["ftp://a/", "http:///x", "a/b", "http://a/a b", "http://a/ü", "http://a/\x7f"])
def test_what_no_request_can_carry_is_refused(url: str):
    with pytest.raises(ConnectFailed):
        locate(url)
