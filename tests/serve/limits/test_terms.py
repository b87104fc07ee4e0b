"""What the config's limits ask of one call."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.config.schema import Budget, Limit
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.limits.terms import Terms, subject


def exchange(headers: dict[bytes, bytes] | None = None, **fields: Any) -> Exchange:
    """Return a request that was authenticated."""
    nothing: Any = None
    x = Exchange("POST", "/v1/chat/completions", "", headers or {}, "10.0.0.1", nothing, nothing)
    for name, value in fields.items():
        setattr(x, name, value)
    return x


@pytest.mark.parametrize(
    ("count_hits", "early"),
    [("requests", {"requests"}), ("all", {"requests", "tokens", "concurrency", "budget"}), ("none", set())],
    ids=["requests", "all", "none"],
)
def test_what_hits_count_against_is_charged_before_the_lookup(count_hits: Any, early: set[str]) -> None:
    limit = Limit(
        name="l", requests=(1, 60), tokens=(1, 60), concurrency=1, budget=Budget(usd=1), count_hits=count_hits
    )
    terms = Terms([limit])
    assert {term.kind for term in terms.early.terms} == early
    assert len(terms.early.terms) + len(terms.late.terms) == 4


def test_without_a_team_a_key_is_its_own() -> None:
    assert subject("team", exchange(key_id="a")) == subject("key", exchange(key_id="a"))
    assert subject("team", exchange(key_id="a", team="t")) == subject("team", exchange(key_id="b", team="t"))


def test_names_that_clients_choose_are_bounded_and_kept_within_their_key() -> None:
    long = {b"x-edgeinf-session": b"x" * 10_000}
    one, other = (subject("session", exchange(long, key_id=key)) for key in ("a", "b"))
    assert len(one) < 100
    assert one != other


def test_a_key_cannot_be_called_as_a_credential_is() -> None:
    assert subject("key", exchange(key_id="abc")) != subject("key", exchange(credential="abc"))


def test_by_address_it_is_the_address() -> None:
    assert subject("ip", exchange(key_id="a", address="192.0.2.7")) == "ip:192.0.2.7"
    assert subject("ip", exchange(address="2001:db8:1:2:3::4")) == subject("ip", exchange(address="2001:db8:1:2::9"))


def test_limits_of_one_name_have_counters_of_their_own() -> None:
    terms = Terms([Limit(name="a", requests=(5, 60.0)), Limit(name="a", requests=(50, 3600.0)), Limit(name="b")])
    assert [term.limit for term in terms.early.terms] == ["a", "a#2"]
