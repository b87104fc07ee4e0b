"""No web page may spend the user's tokens through localhost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.config.schema import Config, Listen
from edgeinf.core.errors import CallError
from edgeinf.serve.admission import admit, host_allowed
from edgeinf.serve.exchange import Exchange, Message
from tests.serve.callers import auth_for


async def _never() -> Message:
    raise AssertionError


async def _nowhere(message: Message) -> None:
    raise AssertionError


def refused(headers: dict[str, str], *, private: bool = False, **config: Any) -> str | None:
    """Return status and code of the refusal of a request, None where it is let in."""
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    x = Exchange("POST", "/v1/chat/completions", "", raw, "127.0.0.1", _never, _nowhere)
    try:
        admit(x, Config(**config), private=private)
    except CallError as error:
        return f"{error.status} {error.code}"
    return None


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST:8787",
        "app.localhost:80",
        "127.0.0.1",
        "127.0.0.1:8787",
        "127.8.9.10",
        "192.168.1.20:8787",
        "[::1]",
        "[::1]:8787",
        "[fe80::1]",
        "::1",
        "inference.lan:8787",
        "",
    ],
)
def test_a_name_of_this_server_is_let_in(host: str) -> None:
    assert host_allowed(host, ("inference.lan",))


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8787",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1.nip.io",
        "localhost:8787, evil.example",
        "localhost, evil.example",
        "localhost:evil.example",
        "localhost@evil.example",
        "localhost/evil.example",
        "[::1]evil.example",
        "[::1",
        "[evil.example]",
        "notlocalhost",
        "evil-localhost",
        "2130706433",
        "0x7f.1",
        "localhost.",
        "other.lan",
        "sub.inference.lan",
        "host name",
    ],
)
def test_a_rebound_name_is_refused(host: str) -> None:
    assert not host_allowed(host, ("inference.lan",))
    assert refused({"host": host}) == "403 host_not_allowed"


@given(st.text(st.characters(max_codepoint=255)))
def test_any_host_and_origin_is_let_in_or_refused_and_nothing_breaks(text: str) -> None:
    assert refused({"host": text}) in (None, "403 host_not_allowed")
    assert refused({"host": "localhost", "origin": text}) in (None, "403 origin_not_allowed")
    assert refused({"host": text, "origin": f"http://{text}"}) in (
        None,
        "403 host_not_allowed",
        "403 origin_not_allowed",
    )


HERE = {"host": "127.0.0.1:8787"}


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:8787"}, True),
        ({"origin": "HTTP://127.0.0.1:8787"}, True),
        ({"origin": "http://127.0.0.1:8787", "sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "none"}, True),
        ({"origin": "http://listed.example"}, True),
        ({"origin": "http://listed.example", "sec-fetch-site": "cross-site"}, True),
        ({"origin": "http://127.0.0.1:3000"}, False),
        ({"origin": "http://127.0.0.1"}, False),
        ({"origin": "http://localhost:8787"}, False),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://127.0.0.1:8787.evil.example"}, False),
        ({"origin": "http://evil.example@127.0.0.1:8787"}, False),
        ({"origin": "http://sub.listed.example"}, False),
        ({"origin": "https://listed.example"}, False),
        ({"origin": "chrome-extension://127.0.0.1:8787"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"origin": "http://["}, False),
        ({"origin": "http://127.0.0.1:8787, http://evil.example"}, False),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": ""}, False),
    ],
    ids=str,
)
@pytest.mark.parametrize("auth", [None, auth_for("anna")], ids=["open", "auth"])
def test_who_comes_from_another_site_is_refused(headers: dict[str, str], let_in: bool, auth: Any) -> None:
    listen = Listen(allowed_origins=("http://listed.example",))
    assert refused({**HERE, **headers}, listen=listen, auth=auth) == (None if let_in else "403 origin_not_allowed")


def test_a_page_that_rebinds_its_name_is_refused_although_its_origin_is_its_host() -> None:
    page = {"host": "evil.example:8787", "origin": "http://evil.example:8787", "sec-fetch-site": "same-origin"}
    assert refused(page) == "403 host_not_allowed"
    listed = Listen(allowed_hosts=("evil.example",))
    assert refused(page, listen=listed) is None


def test_with_keys_any_name_will_do_but_not_for_the_dashboard() -> None:
    headers = {"host": "inference.example"}
    assert refused(headers, auth=auth_for("anna")) is None
    assert refused(headers, auth=auth_for()) == "403 host_not_allowed"
    assert refused(headers, auth=auth_for("anna"), private=True) == "403 host_not_allowed"
