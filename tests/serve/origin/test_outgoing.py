"""Which headers an origin gets, and whose credential."""

from __future__ import annotations

import pytest

from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Region
from edgeinf.serve.origin.outgoing import client_account, dialect_headers, opaque_headers, outgoing
from edgeinf.serve.origin.region import Origin, make_origin

CLIENT = {
    b"authorization": b"Bearer client-key",
    b"x-api-key": b"client-key",
    b"openai-organization": b"org",
    b"cookie": b"session=1",
    b"x-edgeinf-ttl": b"1m",
    b"openai-beta": b"x=1",
    b"user-agent": b"sdk/1",
    b"x-mine": b"1",
    b"connection": b"close, x-hop",
    b"x-hop": b"1",
    b"host": b"edge",
    b"content-length": b"2",
}


def place(**more: object) -> Origin:
    return make_origin(Region(name="a", url="http://a", **more))  # type: ignore[arg-type]


OWN, PASSING, NONE = place(api_key=Secret("region-key")), place(passthrough=True), place()


@pytest.mark.parametrize(
    ("origin", "family", "credentials"),
    [
        (OWN, "openai", {b"authorization": b"Bearer region-key"}),
        (OWN, "anthropic", {b"x-api-key": b"region-key"}),
        (
            PASSING,
            "openai",
            {b"authorization": b"Bearer client-key", b"x-api-key": b"client-key", b"openai-organization": b"org"},
        ),
        (NONE, "openai", {}),
    ],
    ids=["own", "own, anthropic", "passed through", "none"],
)
@pytest.mark.parametrize("make", [dialect_headers, opaque_headers], ids=["dialect", "opaque"])
def test_an_origin_gets_one_credential_and_the_right_one(origin, family, credentials, make):
    sent = dict(make(origin, family, CLIENT))
    names = (b"authorization", b"x-api-key", b"api-key", b"openai-organization", b"openai-project", b"cookie")
    assert {name: sent[name] for name in names if name in sent} == credentials


def test_a_call_that_was_understood_sends_an_allow_list():
    sent = dict(dialect_headers(OWN, "openai", CLIENT, forward=(b"x-mine",)))
    assert sent[b"openai-beta"] == b"x=1"
    assert sent[b"x-mine"] == b"1"
    assert sent[b"accept-encoding"] == b"identity"
    assert not {b"x-hop", b"x-edgeinf-ttl", b"host", b"content-length", b"connection"} & set(sent)
    assert b"x-mine" not in dict(dialect_headers(OWN, "openai", CLIENT))


def test_what_a_client_accepts_goes_to_the_origin_only_where_it_is_in_the_key():
    client = {**CLIENT, b"accept": b"audio/wav"}
    assert dict(dialect_headers(OWN, "openai", client))[b"accept"] == b"*/*"
    assert dict(dialect_headers(OWN, "openai", client, forward=(b"accept",)))[b"accept"] == b"audio/wav"


def test_an_opaque_path_sends_all_that_is_end_to_end():
    sent = dict(opaque_headers(OWN, "openai", CLIENT))
    assert sent[b"x-mine"] == b"1"
    assert not {b"x-hop", b"x-edgeinf-ttl", b"host", b"content-length", b"connection", b"cookie"} & set(sent)


def test_the_regions_own_headers_win():
    origin = place(headers={"User-Agent": "edge", "X-Team": "search"})
    sent = dialect_headers(origin, "openai", CLIENT)
    assert [value for name, value in sent if name == b"user-agent"] == [b"edge"]
    assert (b"x-team", b"search") in sent


def test_an_anthropic_call_without_a_version_gets_one():
    assert dict(dialect_headers(OWN, "anthropic", {}))[b"anthropic-version"] == b"2023-06-01"


def test_the_clients_credential_is_only_for_those_it_may_go_to():
    assert client_account(PASSING, CLIENT)
    assert client_account(OWN, CLIENT) == client_account(NONE, CLIENT) == []


def test_a_request_carries_the_regions_connect_timeout():
    request = outgoing(OWN, "POST", "/v1/chat/completions", "a=1", [], b"{}")
    assert (request.url, request.connect_timeout_s) == ("http://a/v1/chat/completions?a=1", 3.0)


@pytest.mark.parametrize("http2", [False, True])
def test_a_request_carries_the_regions_choice_of_protocol(http2: bool):
    assert outgoing(place(http2=http2), "GET", "/v1/models", "", [], b"").http2 is http2
