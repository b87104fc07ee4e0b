"""What a client may ask of the cache, and that it may only tighten."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from edgeinf.serve.controls import NO_CONTROLS, Controls, read_controls, tightened

NAMES = ["cache-control", "x-edgeinf-normalize", "x-edgeinf-ttl", "x-edgeinf-namespace", "x-edgeinf-sample"]


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("cache-control", "no-cache", Controls(no_cache=True)),
        ("cache-control", "NO-CACHE", Controls(no_cache=True)),
        ("cache-control", "no-store", Controls(no_store=True)),
        ("cache-control", "only-if-cached", Controls(only_if_cached=True)),
        ("cache-control", "max-age=0", Controls(max_age_s=0.0)),
        ("cache-control", 'max-age="60"', Controls(max_age_s=60.0)),
        ("cache-control", " max-age=5 ,no-store,, unknown=1, private", Controls(max_age_s=5.0, no_store=True)),
        ("cache-control", "", Controls()),
        ("cache-control", "max-stale=5", Controls()),
        ("x-edgeinf-normalize", "exact", Controls(level="exact")),
        ("x-edgeinf-ttl", "10m", Controls(ttl_s=600.0)),
        ("x-edgeinf-ttl", "0", Controls(ttl_s=0.0)),
        ("x-edgeinf-ttl", "inf", Controls(ttl_s=math.inf)),
        ("x-edgeinf-namespace", " a b ", Controls(namespace="a b")),
        ("x-edgeinf-sample", "3", Controls(sample="3")),
        ("x-edgeinf-sample", "003", Controls(sample="3")),
        ("x-edgeinf-session", "s", Controls()),
        ("x-edgeinf-ttl", "", Controls()),
    ],
)
def test_a_wish_is_understood(name: str, value: str, wanted: Controls) -> None:
    assert read_controls({name.encode(): value.encode("latin-1"), b"host": b"x"}) == wanted


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("cache-control", "max-age"),
        ("cache-control", "max-age="),
        ("cache-control", "max-age=-1"),
        ("cache-control", "max-age=1.5"),
        ("cache-control", "max-age=²"),
        ("x-edgeinf-normalize", "none"),
        ("x-edgeinf-normalize", "EXACT"),
        ("x-edgeinf-ttl", "5"),
        ("x-edgeinf-ttl", "-5s"),
        ("x-edgeinf-ttl", "nan"),
        ("x-edgeinf-sample", "-1"),
        ("x-edgeinf-sample", "1.0"),
        ("x-edgeinf-sample", "²"),
        ("x-edgeinf-sample", "1" * 10),
        ("x-edgeinf-namespace", "n" * 129),
    ],
)
def test_a_wish_that_means_nothing_is_refused_with_the_header_that_holds_it(name: str, value: str) -> None:
    with pytest.raises(CallError) as refused:
        read_controls({name.encode(): value.encode("latin-1")})
    assert (refused.value.status, refused.value.code) == (400, "invalid_header")
    assert (refused.value.param or "").lower() == name


@given(st.dictionaries(st.sampled_from(NAMES).map(str.encode), st.binary(max_size=140)))
@example({b"cache-control": b"max-age=\xb2"})
@example({b"cache-control": b"max-age=" + b"9" * 400})
@example({b"x-edgeinf-ttl": b"9" * 128})
@example({b"x-edgeinf-ttl": b"9" * 100 + b"h"})
def test_whatever_a_header_holds_it_is_read_or_refused(headers: dict[bytes, bytes]) -> None:
    try:
        found = read_controls(headers)
    except CallError as error:
        assert error.status == 400  # noqa: PT017 - either outcome is right
    else:
        assert found.max_age_s is None or found.max_age_s >= 0
        assert found.ttl_s is None or found.ttl_s >= 0
        assert found.sample == "" or found.sample.isascii()


def test_who_asks_nothing_gets_the_one_value_without_a_look_at_each_header() -> None:
    assert read_controls({b"host": b"x", b"accept": b"*/*"}) is NO_CONTROLS


@pytest.mark.parametrize("configured", LEVELS)
@pytest.mark.parametrize("asked", [*LEVELS, None])
def test_a_client_can_only_tighten_the_level(configured: str, asked: str | None) -> None:
    order = ["exact", "safe", "loose", "masked"]
    found = tightened(configured, asked)
    assert order.index(found) <= order.index(configured)
    assert found == (configured if asked is None else min(configured, asked, key=order.index))
