"""Heads of answers: what they say is true, and can be parsed whatever it holds."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects import dialects
from edgeinf.core.errors import CallError
from edgeinf.core.key import Key
from edgeinf.serve.controls import Controls
from edgeinf.serve.exchange import Exchange, Message
from edgeinf.serve.responses import cache_headers, error_answer, hit_headers, quoted

# RFC 8941: an item with parameters whose values are tokens, strings, integers or nothing (true).
_TOKEN = r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*"
_STRING = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"'
_PARAMETER = rf";\x20*[a-z*][a-z0-9_.*-]*(?:=(?:{_TOKEN}|{_STRING}|-?\d{{1,15}}))?"
_ITEM = re.compile(rf"{_TOKEN}(?:{_PARAMETER})*")


async def _never() -> Message:
    raise AssertionError


async def _nowhere(message: Message) -> None:
    raise AssertionError


def exchange(**state: Any) -> Exchange:
    x = Exchange("POST", "/v1/chat/completions", "", {}, "", _never, _nowhere)
    x.keys = [Key(find=b"f" * 16, trust=b"t" * 32)]
    for name, value in state.items():
        setattr(x, name, value)
    return x


def named(headers: Any) -> dict[str, str]:
    for name, value in headers:
        assert name == name.lower()
        assert not set(value) & set(b"\r\n\0"), (name, value)
    found = {name.decode(): value.decode("latin-1") for name, value in headers}
    assert len(found) == len(headers)
    return found


CACHE = st.sampled_from(["hit", "miss", "bypass", "stale", "collapsed"])


@given(
    cache=CACHE,
    no_cache=st.booleans(),
    stored=st.booleans(),
    ttl_s=st.one_of(st.none(), st.floats(-1e9, 1e300), st.just(math.inf)),
    why_not=st.one_of(st.none(), st.text()),
    age_s=st.one_of(st.none(), st.floats(0, 1e300)),
    region=st.one_of(st.none(), st.text(st.characters(exclude_characters="\r\n\0"), max_size=20)),
    key=st.booleans(),
)
def test_cache_status_is_a_structured_field_whatever_it_says(
    cache: str, no_cache: bool, stored: bool, ttl_s: Any, why_not: Any, age_s: Any, region: Any, key: bool
) -> None:
    x = exchange(cache=cache, controls=Controls(no_cache=no_cache), entry_age_s=age_s, region=region, origin_ms=1.5)
    if not key:
        x.keys = []
    found = named(cache_headers(x, ttl_s=ttl_s, stored=stored, why_not=why_not))
    status = found["cache-status"]
    assert _ITEM.fullmatch(status), status
    assert status.startswith("edgeinf; hit" if cache == "hit" else "edgeinf; fwd=")
    assert found["x-edgeinf-cache"] == cache
    assert re.fullmatch(r"edgeinf;dur=\d+\.\d\d, origin;dur=\d+\.\d", found["server-timing"]) or x.origin_ms
    assert age_s is None or re.fullmatch(r"\d{1,10}", found["age"])


@pytest.mark.parametrize(
    ("state", "more", "said"),
    [
        ({"cache": "hit"}, {"ttl_s": 9.9}, 'edgeinf; hit; ttl=9; key="K"'),
        ({"cache": "miss"}, {"stored": True}, 'edgeinf; fwd=miss; stored; key="K"'),
        ({"cache": "miss", "controls": Controls(no_cache=True)}, {}, 'edgeinf; fwd=request; key="K"'),
        (
            {"cache": "miss"},
            {"why_not": 'a "quoted" \\ é'},
            'edgeinf; fwd=miss; key="K"; detail="a \\"quoted\\" \\\\ ?"',
        ),
        ({"cache": "bypass"}, {"why_not": "web-search"}, 'edgeinf; fwd=bypass; detail="web-search"'),
        ({"cache": "stale"}, {}, 'edgeinf; fwd=stale; key="K"'),
        ({"cache": "collapsed"}, {"stored": True}, 'edgeinf; fwd=miss; stored; collapsed; key="K"'),
    ],
)
def test_cache_status_says_what_happened(state: dict[str, Any], more: dict[str, Any], said: str) -> None:
    x = exchange(**state)
    assert named(cache_headers(x, **more))["cache-status"] == said.replace("K", x.keys[0].find.hex())


@given(age_s=st.floats(0, 1e6), ttl_s=st.one_of(st.floats(-1e6, 1e300), st.just(math.inf)))
def test_the_quick_head_of_a_hit_says_the_same_as_the_other(age_s: float, ttl_s: float) -> None:
    x = exchange(cache="hit", entry_age_s=age_s, region="r\xe9gion \u2603")
    quick, slow = named(hit_headers(x, ttl_s)), named(cache_headers(x, ttl_s=ttl_s))
    for head in (quick, slow):
        assert head.pop("server-timing").startswith("edgeinf;dur=")
    assert quick == slow


@given(st.text())
def test_a_quoted_text_is_a_string_of_rfc_8941(text: str) -> None:
    assert re.fullmatch(_STRING, quoted(text))


@pytest.mark.parametrize("name", dialects())
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 415, 429, 500, 502, 503, 504])
def test_an_error_has_its_dialects_form_and_says_whether_to_try_again(name: str, status: int) -> None:
    x = exchange(dialect=dialects()[name])
    error = CallError("what happened", status=status, code="a_code", hint="what to do", headers=(("Retry-After", "7"),))
    found, headers, body = error_answer(x, error)
    said = named(headers)
    assert (found, said["content-type"], said["retry-after"]) == (status, "application/json", "7")
    assert ("x-should-retry" in said) == (status >= 500)
    assert b"what happened" in body
    assert x.id.encode() in body


def test_an_error_before_the_dialect_is_known_has_the_common_form() -> None:
    x = exchange(keys=[])
    _, headers, body = error_answer(x, CallError("no", status=404, code="unknown_path"))
    assert b'"error"' in body
    assert "key=" not in named(headers)["cache-status"]
