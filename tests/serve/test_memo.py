"""What is remembered of a request holds for that very request, and for nobody else's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.config.schema import Cache, Config, DenyRule, Events, Guard, Message, PromptRule, When
from edgeinf.core.key import Scope
from edgeinf.serve.controls import NO_CONTROLS
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.exchange import Message as Said
from edgeinf.serve.memo import Memo, Remembered
from edgeinf.serve.pipeline import recall, understand
from edgeinf.serve.reload import apply_config
from edgeinf.serve.runtime import Runtime, make_runtime
from edgeinf.serve.steps.authenticate import authenticate
from tests.serve.callers import auth_for, bearer
from tests.serve.proxying import chat

PROMPT = PromptRule(
    when=When(headers={"X-Team": "red"}),
    prepend=(Message(role="system", content="on {{ route }} in {{ session }} for {{ header:X-Who }}, {{ key }}"),),
)
CONFIG = Config(
    cache=Cache(disk=None, forward_headers=("X-Forwarded-Thing",), scope="shared"),
    events=Events(file=None),
    auth=auth_for("anna", "ben", mate={"team": "t", "user": "u"}),
    guard=Guard(deny=(DenyRule(pattern="forbidden"),)),
    prompt=(PROMPT,),
)
SENT = {
    **bearer("anna"),
    "content-type": "application/json",
    "cache-control": "max-age=60",
    "openai-beta": "b",
    "anthropic-beta": "c",
    "anthropic-version": "2023-06-01",
    "x-edgeinf-normalize": "exact",
    "x-edgeinf-ttl": "10m",
    "x-edgeinf-namespace": "n",
    "x-edgeinf-sample": "1",
    "x-edgeinf-route": "web",
    "x-edgeinf-session": "s",
    "x-forwarded-thing": "f",
    "x-team": "red",
    "x-who": "w",
}
# A value that each may be changed to, where another letter would not be understood.
OTHERS = {
    "content-type": "application/merge-patch+json",
    "cache-control": "max-age=61",
    "x-edgeinf-normalize": "safe",
    "x-edgeinf-ttl": "11m",
    "x-edgeinf-sample": "2",
}


async def _never() -> Said:
    raise AssertionError


async def _nowhere(message: Said) -> None:
    raise AssertionError


class Watched(dict[bytes, bytes]):
    """Headers that note which of them are looked at."""

    def __init__(self, *pairs: Any) -> None:
        super().__init__(*pairs)
        self.looked: set[bytes] = set()

    def get(self, name: bytes, default: Any = None) -> Any:
        self.looked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: bytes) -> bytes:
        self.looked.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        assert isinstance(name, bytes)
        self.looked.add(name)
        return super().__contains__(name)

    def __iter__(self) -> Iterator[bytes]:
        return super().__iter__()


def exchange(
    sent: dict[str, str], body: Any = None, *, path: str = "/v1/chat/completions", query: str = ""
) -> Exchange:
    from edgeinf.core.dialects import for_path

    headers = Watched({name.encode(): value.encode("latin-1") for name, value in sent.items()})
    x = Exchange("POST", path, query, headers, "127.0.0.1", _never, _nowhere)
    x.dialect = for_path(path)
    x.raw = json.dumps(body or chat()).encode()
    return x


@pytest.fixture
def second_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every body count as one that came before."""
    monkeypatch.setattr(Memo, "_seen", lambda self, raw: len(raw) <= 256 * 1024)


@pytest.fixture
async def runtime(second_sight: None) -> AsyncIterator[Runtime]:
    made = make_runtime(CONFIG)
    yield made
    await made.aclose()


def name_of(x: Exchange, runtime: Runtime) -> bytes | None:
    """Return the name under which a request is remembered."""
    authenticate(x, runtime.generation, runtime.clock.now())
    recall(x, runtime)
    return x.memo_name


async def test_every_header_that_reading_looks_at_is_in_the_name(runtime: Runtime) -> None:
    """Whatever step comes to read another header: what it read must tell two requests apart."""
    first = exchange(SENT)
    authenticate(first, runtime.generation, runtime.clock.now())
    assert isinstance(first.headers, Watched)
    first.headers.looked.clear()
    await understand(first, runtime)
    looked = {name.decode() for name in first.headers.looked}
    assert {"x-edgeinf-ttl", "x-forwarded-thing", "x-team", "x-who", "anthropic-beta"} <= looked
    for header in looked:
        other = exchange({**SENT, header: OTHERS.get(header, "another")})
        assert name_of(other, runtime) != first.memo_name, header
        absent = exchange({name: value for name, value in SENT.items() if name != header})
        assert header not in SENT or name_of(absent, runtime) != first.memo_name, header


@pytest.mark.parametrize("header", sorted(set(SENT) - {"authorization"}))
async def test_a_header_that_matters_changes_the_name(runtime: Runtime, header: str) -> None:
    assert name_of(exchange(SENT), runtime) == name_of(exchange(dict(SENT)), runtime)
    assert name_of(exchange({**SENT, header: "another"}), runtime) != name_of(exchange(SENT), runtime)


async def test_what_does_not_matter_does_not(runtime: Runtime) -> None:
    more = {"user-agent": "x", "traceparent": "y", "accept": "*/*", "idempotency-key": "z", "host": "localhost"}
    assert name_of(exchange({**SENT, **more}), runtime) == name_of(exchange(SENT), runtime)


@pytest.mark.parametrize(
    "other",
    [
        {"body": chat("other")},
        {"body": chat("hi", user="x")},
        {"path": "/v1/messages"},
        {"query": "a=b"},
    ],
    ids=str,
)
async def test_path_query_and_body_are_in_the_name(runtime: Runtime, other: dict[str, Any]) -> None:
    assert name_of(exchange(SENT, **other), runtime) != name_of(exchange(SENT), runtime)


async def test_white_space_in_the_body_is_another_request_with_the_same_key(runtime: Runtime) -> None:
    first, second = exchange(SENT), exchange(SENT)
    second.raw = second.raw.replace(b": ", b":  ")
    for x in (first, second):
        authenticate(x, runtime.generation, runtime.clock.now())
        await understand(x, runtime)
    assert first.memo_name != second.memo_name
    assert first.keys == second.keys


async def test_a_repeat_is_what_the_first_was(runtime: Runtime) -> None:
    first, second = exchange(SENT), exchange(SENT)
    for x in (first, second):
        authenticate(x, runtime.generation, runtime.clock.now())
    assert not recall(first, runtime)
    await understand(first, runtime)
    assert recall(second, runtime)
    for field in ("call", "controls", "level", "forms", "keys", "bypass", "scope", "rewritten", "prompt", "names"):
        assert getattr(second, field) == getattr(first, field), field
    assert second.variant == first.variant


async def test_a_reload_forgets_everything(runtime: Runtime) -> None:
    first = exchange(SENT)
    authenticate(first, runtime.generation, runtime.clock.now())
    await understand(first, runtime)
    assert apply_config(runtime, replace(CONFIG, prompt=())) is None
    again = exchange(SENT)
    authenticate(again, runtime.generation, runtime.clock.now())
    assert not recall(again, runtime)
    assert apply_config(runtime, CONFIG) is None  # and the old one does not come back with the old config
    back = exchange(SENT)
    authenticate(back, runtime.generation, runtime.clock.now())
    assert not recall(back, runtime)


@pytest.mark.parametrize("scope", ["key", "user", "team"])
async def test_another_tenant_never_gets_what_is_remembered(second_sight: None, scope: Any) -> None:
    runtime = make_runtime(replace(CONFIG, cache=replace(CONFIG.cache, scope=scope)))
    names, keys = set(), set()
    for caller in ("anna", "ben", "mate"):
        x = exchange({**SENT, **bearer(caller)}, chat("hi", user="someone"))
        authenticate(x, runtime.generation, runtime.clock.now())
        assert not recall(x, runtime)
        await understand(x, runtime)
        names.add(x.memo_name)
        keys.add(x.keys[0])
    assert len(names) == len(keys) == 3
    await runtime.aclose()


async def test_what_is_too_large_is_not_remembered_and_understood_all_the_same(runtime: Runtime) -> None:
    x = exchange(SENT, chat("x" * 300_000))
    authenticate(x, runtime.generation, runtime.clock.now())
    await understand(x, runtime)
    assert x.memo_name is None
    assert len(x.keys) == 1


PARTS = st.tuples(
    st.text(max_size=8),
    st.text(max_size=8),
    st.text(max_size=8),
    st.dictionaries(st.sampled_from([b"a", b"b"]), st.binary(max_size=8), max_size=2),
    st.lists(st.text(max_size=4), max_size=2),
    st.binary(max_size=20),
)


@given(PARTS, PARTS)
def test_two_requests_share_a_name_only_if_they_are_equal(one: Any, two: Any) -> None:
    memo = Memo()

    def name(parts: Any) -> bytes | None:
        path, query, scope, headers, more, raw = parts
        x = Exchange("POST", path, query, headers, "", _never, _nowhere)
        x.scope, x.raw = Scope("key", scope), raw
        return memo.name(x, 1, (b"a", b"b"), more)

    name(one), name(two)  # what comes for the first time has no name
    names = name(one), name(two)
    assert None not in names
    assert (names[0] == names[1]) == (one == two)


def test_what_comes_once_is_not_remembered_and_what_came_long_ago_counts_as_new() -> None:
    memo = Memo()

    def named(number: int) -> bool:
        x = Exchange("POST", "/", "", {}, "", _never, _nowhere)
        x.raw = b"%d" % number
        return memo.name(x, 1, ()) is not None

    assert [named(0), named(0), named(0)] == [False, True, True]
    for number in range(1, 40_000):
        assert not named(number)
    assert named(39_999)
    assert not named(0)
    assert len(memo._came) + len(memo._came_before) <= 20_001


def test_the_memo_is_bounded_and_lets_the_oldest_go() -> None:
    memo = Memo(max_bytes=100_000)
    call = msgspec.json.decode  # any object will do for what is never looked into
    known = Remembered(call, NO_CONTROLS, "safe", [], [], None, Scope("shared"))  # type: ignore[arg-type]
    for number in range(100):
        memo.put(b"%d" % number, 1000, known)
    kept = [number for number in range(100) if memo.get(b"%d" % number) is not None]
    assert kept == list(range(100 - len(kept), 100))
    assert 5 <= len(kept) <= 15
